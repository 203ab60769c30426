// The state of one run on the page: its details and the columns of its steps, kept up to date.

import { computed, effect, signal } from "@preact/signals";
import { change, getBytes, getJson, Refusal, runUrl, textOf } from "../api";
import type { Details, Resume, Status, Summary } from "../api";
import { decode } from "../frames";
import type { FrameArray } from "../frames";
import { complain, doubt, found, tell } from "../messages";
import { explorerName, hasLevel, levelName } from "../words";
import { painter } from "../map/painter";
import { firstVisits } from "../map/targets";
import { listen } from "../stream";
import { Latest } from "./latest";
import { onList } from "./listing";

export interface Columns {
  count: number; // steps
  criteria: number;
  state: Int32Array; // [N]
  next: Int32Array; // [N]
  bound: Float64Array; // [N, K]
  kept: Float64Array; // [N, K]
  known: Float32Array | null; // [N] after each step
  knownAtStart: number | null; // before the first step
  plan_ms: Float32Array | null; // [N]
}

const NONE: Columns = {
  count: 0,
  criteria: 0,
  state: new Int32Array(),
  next: new Int32Array(),
  bound: new Float64Array(),
  kept: new Float64Array(),
  known: null,
  knownAtStart: null,
  plan_ms: null,
};

/** Runs that go on by themselves, and missions, which go on with each report. */
export const GOING: readonly Status[] = ["running", "queued", "waiting"];
const UNAUTHORIZED = 401;
const RETRY_MS = 2000; // until columns that were still being computed are asked for again

const MADE = new Map<string, string | null>(); // when the run of a name was made that was last seen

export class RunModel {
  readonly details = signal<Details | null>(null);
  readonly columns = signal<Columns>(NONE);
  readonly missing = signal(""); // why there is nothing to show
  readonly gone = signal(false); // it was deleted; what was loaded stays
  readonly count = computed(() => this.columns.value.count);
  /** After how many steps each target was reached, of those that were. */
  readonly reached = computed(() => {
    const targets = this.details.value?.targets ?? [];
    return firstVisits(targets, this.stateAt(0), this.columns.value.next);
  });
  readonly going = computed(() => GOING.includes(this.details.value?.status ?? "finished"));

  private unfollow: (() => void) | null = null; // ends its stream of events
  private readonly fetching = new Latest<boolean>(
    (all) => this.fetchRecords(all),
    (waiting, all) => waiting || all, // a request for a part must not replace one for everything
  );
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
        if (this.going.value) this.follow();
        else this.leave();
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
    this.leave();
    window.clearTimeout(this.later);
  }

  /** Load the details again; the run may have been deleted. */
  check(): void {
    if (!this.gone.peek()) this.checking.ask(true);
  }

  /** Check the run after a refusal that may mean that it was deleted. */
  doubt(status: number): void {
    if (status === 404 || status === 409) this.check();
  }

  /** Return the state after k steps. */
  stateAt(step: number): number | null {
    const { next, count } = this.columns.value;
    if (step > 0 && count > 0) return next[Math.min(step, count) - 1] ?? null;
    return this.details.value?.start ?? this.columns.value.state[0] ?? null;
  }

  /** Return the homes after k steps. */
  homesAt(step: number): number[] {
    const home = this.details.value?.home ?? null;
    if (Array.isArray(home)) return home;
    if (typeof home === "number") return [home];
    const start = this.stateAt(0);
    const here = this.stateAt(step);
    const where = home === "start" ? start : home === "current" ? here : null;
    return where === null ? [] : [where];
  }

  /** Pause, resume or cancel the run; `body` goes with the request. */
  async command(what: "pause" | "resume" | "cancel", body?: Resume): Promise<void> {
    try {
      this.merge(await change<Summary>("POST", runUrl(this.id, `/${what}`), body));
    } catch (cause) {
      complain(cause);
      await this.load();
    }
  }

  private merge(summary: Partial<Summary>): void {
    const before = this.details.value;
    if (!before) return;
    // A summary lacks what takes long to compute.
    const { shape, limit } = before;
    const known = { shape: summary.shape ?? shape, limit: summary.limit ?? limit };
    this.details.value = { ...before, ...summary, ...known };
  }

  /** Mark the run as deleted. */
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
      if (!before) this.missing.value = textOf(cause);
      if (status === UNAUTHORIZED) complain(cause);
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
      this.columns.value = joined(before, frame.arrays, frame.known_at_start ?? null);
      const { trapped = null } = frame;
      if (trapped !== null && this.details.peek()?.trapped !== trapped)
        this.merge({ trapped, outcome: "trapped" });
      const { count, known } = this.columns.value;
      if (count > 0 && !known && !this.going.value) this.askLater();
    } catch (cause) {
      if (cause instanceof Refusal && cause.status === 404) this.check();
      else if (!this.gone.peek()) complain(cause);
    }
  }

  /** Ask for all columns again later: some are missing while the server computes them. */
  private askLater(): void {
    if (this.tries++ >= 30) return;
    window.clearTimeout(this.later);
    this.later = window.setTimeout(() => this.fetching.ask(true), RETRY_MS);
  }

  private follow(): void {
    if (this.closed || this.unfollow) return;
    let broken = false;
    this.unfollow = listen({
      run: this.id,
      last: () => this.count.peek(),
      steps: (news) => {
        this.merge({ steps: news.to, status: news.status });
        this.fetching.ask(news.to < this.count.peek()); // it was made anew
      },
      status: (summary) => {
        const was = this.details.value?.status;
        this.merge(summary);
        this.fetching.ask(!GOING.includes(summary.status));
        if (was !== summary.status && !GOING.includes(summary.status)) {
          const ended = `${summary.id}: ${summary.status}.`;
          tell([ended, summary.why].filter(Boolean).join(" "));
        }
      },
      gone: () => {
        this.leave();
        this.lose();
      },
      begun: () => {
        if (broken) this.check();
        broken = false;
      },
      broken: () => {
        broken = true;
        doubt();
      },
    });
  }

  private leave(): void {
    this.unfollow?.();
    this.unfollow = null;
  }
}

/** Return names of runs: their explorers if these differ, their δ if nothing else does, else their own names. */
export function namesOf(runs: readonly RunModel[]): string[] {
  const details = runs.map((run) => run.details.value);
  const explorers = details.map((each) => explorerName(each?.explorer ?? null));
  const levels = details.map((each) => (each && hasLevel(each) ? `δ = ${levelName(each.delta ?? 0)}` : ""));
  const others = details.map((each) => JSON.stringify({ ...each?.config, delta: null }));
  const differ = (names: string[]): boolean =>
    names.every((name) => name) && new Set(names).size === names.length;
  if (differ(explorers)) return explorers;
  return differ(levels) && new Set(others).size === 1 ? levels : runs.map((run) => run.id);
}

/** Append the columns of later steps to those of earlier ones; one that is missing is null. */
function joined(
  before: Columns,
  arrays: Map<string, FrameArray>,
  knownAtStart: number | null,
): Columns {
  const added = arrays.get("state")?.data.length ?? 0;
  const criteria = arrays.get("bound")?.shape[1] ?? before.criteria;
  const append = <T extends Int32Array | Float32Array | Float64Array>(name: string, old: T | null, out: T) => {
    const data = arrays.get(name)?.data;
    if ((!data && added) || (before.count && !old)) return null;
    if (old) out.set(old);
    if (data) out.set(data, old?.length ?? 0);
    return out;
  };
  const count = before.count + added;
  const integers = (): Int32Array => new Int32Array(count);
  const reals = (): Float32Array => new Float32Array(count);
  const bounds = (): Float64Array => new Float64Array(count * criteria);
  return {
    count,
    criteria,
    state: append("state", before.state, integers()) ?? integers(),
    next: append("next", before.next, integers()) ?? integers(),
    bound: append("bound", before.bound, bounds()) ?? new Float64Array(),
    kept: append("kept", before.kept, bounds()) ?? new Float64Array(),
    known: append("known", before.known, reals()),
    knownAtStart: knownAtStart ?? before.knownAtStart,
    plan_ms: append("plan_ms", before.plan_ms, reals()),
  };
}
