// One run as the page knows it: its details, the columns of its steps, and what happens to it.

import { computed, effect, signal } from "@preact/signals";
import { change, getBytes, getJson, Refusal, runUrl } from "../api";
import type { Details, Status, Summary } from "../api";
import { decode } from "../frames";
import type { FrameArray } from "../frames";
import { complain, doubt, found, tell } from "../messages";
import { explorerName } from "../words";
import { painter } from "../map/painter";
import { Latest } from "./latest";
import { onList } from "./listing";

export interface Columns {
  count: number; // steps
  criteria: number;
  state: Int32Array; // [N]
  action: Int32Array; // [N]
  next: Int32Array; // [N]
  bound: Float32Array; // [N, K]
  kept: Float32Array; // [N, K]
  value: Float32Array | null; // [N]
  known: Float32Array | null; // [N]
  plan_ms: Float32Array | null; // [N]
}

const NONE: Columns = {
  count: 0,
  criteria: 0,
  state: new Int32Array(),
  action: new Int32Array(),
  next: new Int32Array(),
  bound: new Float32Array(),
  kept: new Float32Array(),
  value: null,
  known: null,
  plan_ms: null,
};

export const GOING: readonly Status[] = ["running", "queued"];
const AGAIN = 2000; // ms until columns that were still being worked out are asked for again

const MADE = new Map<string, string | null>(); // when the run of a name was made that was last seen

export class RunModel {
  readonly details = signal<Details | null>(null);
  readonly columns = signal<Columns>(NONE);
  readonly missing = signal(""); // why there is nothing to show
  readonly gone = signal(false); // it was deleted; what was loaded stays
  readonly count = computed(() => this.columns.value.count);
  readonly going = computed(() => GOING.includes(this.details.value?.status ?? "finished"));

  private source: EventSource | null = null;
  private readonly fetching = new Latest<boolean>((all) => this.fetchRecords(all));
  private readonly checking = new Latest<boolean>(() => this.load());
  private readonly stops: (() => void)[];
  private closed = false;
  private later = 0;
  private tries = 0;

  constructor(readonly id: string) {
    this.checking.ask(true);
    const answered = found.peek();
    let heard = false;
    this.stops = [
      effect(() => {
        if (this.going.value) this.listen();
        else this.source?.close();
      }),
      effect(() => {
        if (found.value !== answered) this.check();
      }),
      onList(({ begun, changed, gone }) => {
        // A run that goes has a stream of its own; the beginning of the list's says nothing new.
        const told = changed.includes(id) || gone.includes(id) || (begun && heard);
        if (told && !this.going.peek()) this.check();
        heard = true;
      }),
    ];
  }

  close(): void {
    this.closed = true;
    this.stops.forEach((stop) => stop());
    this.source?.close();
    window.clearTimeout(this.later);
  }

  /** Look how the run stands, and whether it is still there. */
  check(): void {
    if (!this.gone.peek()) this.checking.ask(true);
  }

  /** Take note of a refusal: where something is missing or can't be read, perhaps all is gone. */
  doubt(status: number): void {
    if (status === 404 || status === 409) this.check();
  }

  /** Give the state after k steps. */
  stateAt(step: number): number | null {
    const { next, count } = this.columns.value;
    if (step > 0 && count > 0) return next[Math.min(step, count) - 1] ?? null;
    return this.details.value?.start ?? this.columns.value.state[0] ?? null;
  }

  /** Give the homes there are after k steps, as the run's own settings say it. */
  homesAt(step: number): number[] {
    const home = this.details.value?.home ?? null;
    if (Array.isArray(home)) return home;
    if (typeof home === "number") return [home];
    const start = this.stateAt(0);
    const here = this.stateAt(step);
    const where = home === "start" ? start : home === "current" ? here : null;
    return where === null ? [] : [where];
  }

  /** Pause, resume or cancel. */
  async command(what: "pause" | "resume" | "cancel"): Promise<void> {
    try {
      this.merge(await change<Summary>("POST", runUrl(this.id, `/${what}`)));
    } catch (cause) {
      complain(cause);
      await this.load();
    }
  }

  private merge(summary: Partial<Summary>): void {
    const before = this.details.value;
    if (before) this.details.value = { ...before, ...summary };
  }

  /** Take note that the run's folder is gone. */
  private lose(): void {
    if (this.gone.peek()) return;
    this.gone.value = true;
    if (this.going.peek()) this.merge({ status: "cancelled", live: false });
    complain("This run was deleted while you watched it; what was loaded stays on view.");
  }

  private async load(): Promise<void> {
    const before = this.details.peek();
    try {
      const details = await getJson<Details>(runUrl(this.id));
      if (this.closed) return;
      const made = MADE.get(this.id);
      if (made !== undefined && made !== details.created) painter().forget(this.id);
      MADE.set(this.id, details.created);
      // What is as it was is not asked for again, or a refusal would lead to the next.
      if (JSON.stringify(details) !== JSON.stringify(before)) this.details.value = details;
      this.missing.value = "";
      const same = before?.status === details.status && this.count.peek() === details.steps;
      if (!same) this.fetching.ask(true);
    } catch (cause) {
      if (this.closed) return;
      const status = cause instanceof Refusal ? cause.status : 0;
      if (!before) this.missing.value = cause instanceof Error ? cause.message : String(cause);
      if (before && status === 404) this.lose();
      else if (!status || (before && !this.gone.peek())) complain(cause);
    }
  }

  private async fetchRecords(all: boolean): Promise<void> {
    if (this.closed || this.gone.peek()) return;
    const before = all ? NONE : this.columns.value;
    try {
      const frame = decode(await getBytes(runUrl(this.id, `/records?from=${before.count}`)));
      if (this.closed) return;
      this.columns.value = joined(before, frame.arrays);
      const { count, known } = this.columns.value;
      if (count > 0 && !known && !this.going.value) this.askLater();
    } catch (cause) {
      if (cause instanceof Refusal && cause.status === 404) this.check();
      else if (!this.gone.peek()) complain(cause);
    }
  }

  /** Ask for all columns again: what is known is absent while the server works it out. */
  private askLater(): void {
    if (this.tries++ >= 30) return;
    window.clearTimeout(this.later);
    this.later = window.setTimeout(() => this.fetching.ask(true), AGAIN);
  }

  private listen(): void {
    if (this.closed || (this.source && this.source.readyState !== EventSource.CLOSED)) return;
    const source = new EventSource(runUrl(this.id, "/events"));
    this.source = source;
    source.addEventListener("steps", (event) => {
      const news = JSON.parse((event as MessageEvent<string>).data) as {
        to: number;
        status?: Status;
      };
      this.merge({ steps: news.to, ...(news.status ? { status: news.status } : {}) });
      this.fetching.ask(news.to < this.count.peek()); // it was made anew
    });
    source.addEventListener("status", (event) => {
      const summary = JSON.parse((event as MessageEvent<string>).data) as Summary;
      const was = this.details.value?.status;
      this.merge(summary);
      this.fetching.ask(!GOING.includes(summary.status));
      if (was !== summary.status && !GOING.includes(summary.status)) {
        const said = `${summary.title ?? summary.id}: ${summary.status}.`;
        tell([said, summary.why].filter(Boolean).join(" "));
      }
    });
    source.addEventListener("gone", () => {
      source.close();
      this.lose();
    });
    source.onerror = () => {
      if (this.closed) return;
      doubt();
      if (source.readyState !== EventSource.CLOSED) return;
      window.clearTimeout(this.later);
      this.later = window.setTimeout(
        () => void this.load().then(() => this.going.value && this.listen()),
        3000,
      );
    };
  }
}

/** Name each run by its explorer where that tells them apart, else by its own name. */
export function namesOf(runs: readonly RunModel[]): string[] {
  const explorers = runs.map((run) => explorerName(run.details.value?.explorer ?? null));
  const told = new Set(explorers).size === runs.length && explorers.every((name) => name);
  return told ? explorers : runs.map((run) => run.id);
}

/** Put the columns of later steps behind those of earlier ones. */
function joined(before: Columns, arrays: Map<string, FrameArray>): Columns {
  const state = arrays.get("state");
  const added = state?.data.length ?? 0;
  const bound = arrays.get("bound");
  const wide = bound?.shape[1];
  const criteria = wide ?? before.criteria;
  const count = before.count + added;
  const whole = (name: "state" | "action" | "next"): Int32Array => {
    const out = new Int32Array(count);
    out.set(before[name]);
    out.set(arrays.get(name)?.data ?? [], before.count);
    return out;
  };
  const real = (
    name: "bound" | "kept" | "value" | "known" | "plan_ms",
    per: number,
  ): Float32Array | null => {
    const data = arrays.get(name)?.data;
    const old = before[name];
    if ((!data && added) || (before.count && !old)) return null;
    const out = new Float32Array(count * per);
    if (old) out.set(old);
    if (data) out.set(data, before.count * per);
    return out;
  };
  return {
    count,
    criteria,
    state: whole("state"),
    action: whole("action"),
    next: whole("next"),
    bound: real("bound", criteria) ?? new Float32Array(),
    kept: real("kept", criteria) ?? new Float32Array(),
    value: real("value", 1),
    known: real("known", 1),
    plan_ms: real("plan_ms", 1),
  };
}
