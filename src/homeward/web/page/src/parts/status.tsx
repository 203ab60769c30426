// How a run stands, and what can be done about it.

import type { Status, Summary } from "../api";
import { STATUS, explorerName } from "../words";

export function StatusTag({ run }: { run: Summary }) {
  const text =
    run.status === "queued" && run.place !== null
      ? `waiting, place ${run.place}`
      : STATUS[run.status];
  return <span class={`tag status ${run.status}`}>{text}</span>;
}

export function ExplorerTag({ run }: { run: Summary }) {
  if (!run.explorer) return null;
  const safe = run.explorer === "safe";
  return (
    <span class={`tag ${safe ? "safe" : "unsafe"}`}>
      {explorerName(run.explorer)}
      {run.delta !== null && run.explorer !== "unsafe" && (safe || run.explorer === "naive")
        ? `, δ = ${run.delta}`
        : ""}
    </span>
  );
}

export type Command = "pause" | "resume" | "cancel" | "delete";

/** Say which commands a status allows. */
export function commandsOf(status: Status): Command[] {
  switch (status) {
    case "running":
    case "queued":
      return ["pause", "cancel"];
    case "paused":
      return ["resume", "cancel", "delete"];
    case "interrupted":
    case "cancelled":
    case "failed":
      return ["resume", "delete"];
    case "finished":
    case "damaged":
    case "newer":
      return ["delete"];
  }
}

export function Commands({
  run,
  act,
  without = [],
}: {
  run: Summary;
  act: (what: Command) => void;
  without?: Command[];
}) {
  return (
    <span class="commands">
      {commandsOf(run.status)
        .filter((what) => !without.includes(what))
        .map((what) => (
          <button
            key={what}
            class="small"
            onClick={() => act(what)}
            aria-label={`${what} ${run.title || run.id}`}
          >
            {what}
          </button>
        ))}
    </span>
  );
}
