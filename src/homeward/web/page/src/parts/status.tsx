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

/** Let a run that ended at its maximum of steps go on; nothing for other runs. */
export function GoOn({ run, act }: { run: Summary; act: (steps: number) => Promise<void> }) {
  const typed = useSignal<string | null>(null);
  const more = typed.value ?? String(run.steps);
  const busy = useSignal(false);
  if (run.status !== "finished" || run.end !== "steps" || run.trapped !== null) return null;
  const steps = Number(more);
  const wrong = !(Number.isInteger(steps) && steps > 0);
  const go = async (event: Event): Promise<void> => {
    event.preventDefault();
    busy.value = true;
    await act(run.steps + steps);
    busy.value = false;
  };
  return (
    <form class="go-on row fine" onSubmit={(event) => void go(event)}>
      <button class="small" type="submit" disabled={wrong || busy.value}>
        {busy.value ? "Going on…" : "Go on"}
      </button>
      <label class="row">
        <span>for</span>
        <input
          inputMode="numeric"
          size={6}
          value={more}
          aria-invalid={wrong}
          onInput={(event) => (typed.value = event.currentTarget.value)}
        />
        <span>more steps</span>
      </label>
    </form>
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
