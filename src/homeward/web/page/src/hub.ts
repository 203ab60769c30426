// One stream for several tabs: it carries what any of them wants, and each is told what it asked for.

import type { Events } from "./contract";

/** What a tab says. */
export type Said =
  | { kind: "wants"; runs: Record<string, number>; list: boolean } // with the last step of each run
  | { kind: "here"; lock: string }; // held until the tab has gone

/** What a tab is told. */
export type Told =
  | { kind: "begun" }
  | { kind: "broken" }
  | { [E in keyof Events]: { kind: "event"; name: E; data: Events[E] } }[keyof Events];

interface Tab {
  tell: (told: Told) => void;
  runs: Record<string, number>;
  list: boolean;
}

const NAMES: readonly (keyof Events)[] = ["steps", "status", "gone", "runs"];
const RETRY_MS = 3000;

export class Hub {
  private readonly tabs = new Set<Tab>();
  private readonly last = new Map<string, number>(); // the last step that was told of each run
  private source: EventSource | null = null;
  private retry: ReturnType<typeof setTimeout> | undefined;
  private open = ""; // what the stream carries

  constructor(private readonly key: () => string) {}

  /** Add a tab; return what hears it. */
  join(tell: (told: Told) => void): (said: Said) => void {
    const tab: Tab = { tell, runs: {}, list: false };
    this.tabs.add(tab);
    return (said) => {
      if (said.kind === "here") {
        void navigator.locks.request(said.lock, () => {
          this.tabs.delete(tab);
          this.attend(false);
        });
        return;
      }
      [tab.runs, tab.list] = [said.runs, said.list];
      this.tabs.add(tab);
      for (const [run, step] of Object.entries(said.runs))
        this.last.set(run, Math.min(step, this.last.get(run) ?? step));
      this.attend(true);
    };
  }

  /** Open the stream anew if it has to carry more, or less; `fresh` if a tab waits for its beginning. */
  private attend(fresh: boolean): void {
    const runs = new Set([...this.tabs].flatMap((tab) => Object.keys(tab.runs)));
    for (const run of this.last.keys()) if (!runs.has(run)) this.last.delete(run);
    const list = [...this.tabs].some((tab) => tab.list);
    const wanted = runs.size || list ? JSON.stringify([[...runs].sort(), list]) : "";
    if (wanted === this.open && !fresh) return;
    this.close();
    this.open = wanted;
    if (wanted) this.start([...runs], list);
  }

  private close(): void {
    clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
  }

  private start(runs: string[], list: boolean): void {
    const query = new URLSearchParams();
    if (runs.length) query.set("runs", runs.map((run) => `${run}@${this.last.get(run) ?? 0}`).join(","));
    if (list) query.set("list", "1");
    if (this.key()) query.set("key", this.key());
    const source = (this.source = new EventSource(`/api/v1/events?${query}`));
    source.onopen = () => this.tell({ kind: "begun" });
    source.onerror = () => {
      // The browser would ask again with the first steps, and never again after a refusal.
      this.close();
      this.retry = setTimeout(() => this.start(runs, list), RETRY_MS);
      this.tell({ kind: "broken" });
    };
    for (const name of NAMES)
      source.addEventListener(name, (event) => this.pass(name, JSON.parse(String(event.data))));
  }

  private pass<E extends keyof Events>(name: E, data: Events[E]): void {
    const told = { kind: "event", name, data } as Told;
    if (name === "steps") {
      const { id, to } = data as Events["steps"];
      this.last.set(id, to);
    }
    for (const tab of this.tabs) {
      if ("id" in data ? data.id in tab.runs : tab.list) tab.tell(told);
      if (name === "gone") delete tab.runs[(data as Events["gone"]).id];
    }
  }

  private tell(told: Told): void {
    for (const tab of this.tabs) if (tab.list || Object.keys(tab.runs).length) tab.tell(told);
  }
}
