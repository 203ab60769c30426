// Events of runs and of their list. All tabs share one stream, held by a shared worker, since a browser
// opens only six connections to a server; a hidden tab hears nothing. Without shared workers each tab has
// its own stream.

import { key } from "./key";
import { Hub } from "./hub";
import type { Events } from "./contract";
import type { Said, Told } from "./hub";

export type Heard = { [E in keyof Events]?: (data: Events[E]) => void };

export interface Listener extends Heard {
  run?: string; // whose events it hears; without one, those of the list
  last?: () => number; // the last step that it has of the run
  begun?: () => void; // the stream was opened: earlier changes of the list are not told
  broken?: () => void; // the stream broke off or was refused; it is opened again
}

const listeners = new Set<Listener>();
let say: ((said: Said) => void) | null = null;
let asked = "";
let asking = false;

/** Listen; return what ends that. */
export function listen(listener: Listener): () => void {
  if (!say) begin();
  listeners.add(listener);
  ask();
  return () => {
    listeners.delete(listener);
    ask();
  };
}

function begin(): void {
  if (typeof SharedWorker === "undefined") {
    const hub = new Hub(key);
    say = hub.join(hear);
  } else {
    const url = new URL("shared.js", import.meta.url);
    const { port } = new SharedWorker(url, { type: "module", name: key() });
    port.onmessage = (event: MessageEvent<Told>) => hear(event.data);
    say = (said) => port.postMessage(said);
    const lock = crypto.randomUUID?.() ?? "";
    // The worker gets the lock when this tab has gone, however it went.
    if (lock && navigator.locks)
      void navigator.locks.request(lock, () => {
        say?.({ kind: "here", lock });
        return new Promise(() => undefined);
      });
    window.addEventListener("pagehide", () => say?.({ kind: "wants", runs: {}, list: false }));
    window.addEventListener("pageshow", again);
  }
  document.addEventListener("visibilitychange", again);
}

function again(): void {
  asked = "";
  ask();
}

/** Say what this tab wants to hear, once after several changes. */
function ask(): void {
  if (asking) return;
  asking = true;
  window.setTimeout(() => {
    asking = false;
    tellWanted();
  });
}

/** Say what this tab wants to hear; a hidden one wants nothing. */
function tellWanted(): void {
  const shown = document.hidden ? [] : [...listeners];
  const runs: Record<string, number> = {};
  for (const { run, last } of shown) if (run !== undefined) runs[run] = last?.() ?? 0;
  const list = shown.some(({ run }) => run === undefined);
  const wanted = JSON.stringify([Object.keys(runs), list]);
  if (wanted === asked) return;
  asked = wanted;
  say?.({ kind: "wants", runs, list });
}

function hear(told: Told): void {
  for (const listener of [...listeners]) {
    if (told.kind !== "event") listener[told.kind]?.();
    else if (("id" in told.data ? told.data.id : undefined) === listener.run)
      (listener[told.name] as ((data: unknown) => void) | undefined)?.(told.data);
  }
}
