// Status, explorer and commands of a run.

import { useSignal } from "@preact/signals";
import type { Status, Summary } from "../api";
import { explorerName, hasLevel, statusName } from "../words";

export function StatusTag({ run }: { run: Summary }) {
  return <span class={`tag status ${run.status}`}>{statusName(run)}</span>;
}

export function ExplorerTag({ run }: { run: Summary }) {
  if (!run.explorer) return null;
  const safe = run.explorer === "safe";
  return (
    <span class={`tag ${safe ? "safe" : "unsafe"}`}>
      {explorerName(run.explorer)}
      {hasLevel(run) && `, δ = ${run.delta}`}
    </span>
  );
}

export type Command = "pause" | "resume" | "cancel" | "delete";

const COMMANDS: Record<Status, Command[]> = {
  running: ["pause", "cancel"],
  queued: ["pause", "cancel"],
  paused: ["resume", "cancel", "delete"],
  interrupted: ["resume", "delete"],
  cancelled: ["resume", "delete"],
  failed: ["resume", "delete"],
  finished: ["delete"],
  damaged: ["delete"],
  newer: ["delete"],
  waiting: ["delete"],
};

const DOING: Record<Command, string> = {
  pause: "pausing…",
  resume: "resuming…",
  cancel: "cancelling…",
  delete: "delete",
};

/** Buttons of a run's commands; while one is executed none can be pressed, but they keep the focus. */
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
    <span class="row">
      {COMMANDS[run.status]
        .filter((what) => !without.includes(what))
        .map((what) => (
          <button
            key={what}
            class="small"
            onClick={() => press(what)}
            aria-disabled={doing.value !== null}
            aria-label={`${what} ${run.id}`}
          >
            {doing.value === what ? DOING[what] : what}
          </button>
        ))}
    </span>
  );
}
