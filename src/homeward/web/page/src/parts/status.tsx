// How a run stands, and what can be done about it.

import { useSignal } from "@preact/signals";
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

const DOING: Record<Command, string> = {
  pause: "pausing…",
  resume: "resuming…",
  cancel: "cancelling…",
  delete: "delete",
};

/** Buttons for what can be done; while one is at work none can be pressed, but they keep the focus. */
export function Commands({
  run,
  act,
  without = [],
}: {
  run: Summary;
  act: (what: Command) => Promise<void>;
  without?: Command[];
}) {
  const doing = useSignal<Command | null>(null);
  const press = (what: Command): void => {
    if (doing.value !== null) return;
    doing.value = what;
    void act(what).finally(() => (doing.value = null));
  };
  return (
    <span class="commands">
      {commandsOf(run.status)
        .filter((what) => !without.includes(what))
        .map((what) => (
          <button
            key={what}
            class="small"
            onClick={() => press(what)}
            aria-disabled={doing.value !== null}
            aria-label={`${what} ${run.title || run.id}`}
          >
            {doing.value === what ? DOING[what] : what}
          </button>
        ))}
    </span>
  );
}
