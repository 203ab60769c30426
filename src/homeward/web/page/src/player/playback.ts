// A run that can be played without the server (docs/api.md, playback): its arrays, and the moment
// after any step.

import { firstVisits } from "../map/targets";

export interface RunEvent {
  step: number;
  code: "reached" | "news" | "spent" | "refused" | "trapped" | "ended";
  cell: number | null;
  amount: number | null;
}

/** A playback as it is stored; arrays are base64 texts. */
export interface Stored {
  id: string;
  kind: string;
  explorer: string | null;
  delta: number | null;
  level: number; // of the region with a way home
  shape: [number, number];
  cell: [number, number] | null;
  grid: boolean;
  steps: number;
  start: number;
  homes: number[];
  targets: number[];
  end: string | null;
  why: string | null;
  trapped: number | null;
  events: RunEvent[];
  height: string;
  seen: string;
  next: string;
  moments: string;
  way_home: string;
  counts: string;
  flips: string;
}

export class Playback {
  readonly height: Float32Array; // [S]
  readonly next: Int32Array; // [N] the cell after each step
  private readonly seenFrom: Int32Array; // [S] the step from which a cell is seen, −1 for never
  private readonly moments: Int32Array; // [M]
  private readonly wayHome: Float64Array; // [M]
  private readonly counts: Int32Array; // [M]
  private readonly flips: Int32Array;
  private readonly ordered: Int32Array; // steps from which cells are seen, ascending
  readonly reached: Map<number, number>; // after how many steps each target was, of those that were
  private readonly open: number; // cells that can be seen
  private at = -1; // the moment whose region is in `inside`
  private used = 0; // flips up to that moment
  private readonly inside: Uint8Array; // [S]

  constructor(readonly stored: Stored) {
    this.height = new Float32Array(bytesOf(stored.height));
    this.next = new Int32Array(bytesOf(stored.next));
    this.seenFrom = new Int32Array(bytesOf(stored.seen));
    this.moments = new Int32Array(bytesOf(stored.moments));
    this.wayHome = new Float64Array(bytesOf(stored.way_home));
    this.counts = new Int32Array(bytesOf(stored.counts));
    this.flips = new Int32Array(bytesOf(stored.flips));
    this.inside = new Uint8Array(this.height.length);
    this.reached = firstVisits(stored.targets, stored.start, this.next);
    this.ordered = this.seenFrom.filter((step) => step >= 0).sort();
    this.open = this.height.filter((height) => !Number.isNaN(height)).length;
  }

  get steps(): number {
    return this.stored.steps;
  }

  /** Return the cell of the explorer after a number of steps. */
  here(step: number): number {
    return step > 0 ? (this.next[Math.min(step, this.steps) - 1] as number) : this.stored.start;
  }

  /** Return the mask [S] of the cells that are seen after a number of steps. */
  seen(step: number): Uint8Array {
    return Uint8Array.from(this.seenFrom, (from) => (from >= 0 && from <= step ? 1 : 0));
  }

  /** Return the share of the cells that are seen. */
  share(step: number): number {
    let [low, high] = [0, this.ordered.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.ordered[middle] as number) <= step) low = middle + 1;
      else high = middle;
    }
    return this.open ? low / this.open : 0;
  }

  /** Return the proven probability of a way home from where the explorer is; 0 once it is trapped. */
  way(step: number): number {
    const { trapped } = this.stored;
    if (trapped !== null && step >= trapped) return 0;
    return this.wayHome[this.momentOf(step)] ?? 0;
  }

  /** Return the mask [S] of the cells with a proven way home at the level. It is written again. */
  region(step: number): Uint8Array {
    const wanted = this.momentOf(step);
    if (wanted < this.at) {
      this.inside.fill(0);
      this.at = -1;
      this.used = 0;
    }
    while (this.at < wanted) {
      const end = this.used + (this.counts[++this.at] as number);
      for (; this.used < end; this.used++) {
        const cell = this.flips[this.used] as number;
        this.inside[cell] = this.inside[cell] ? 0 : 1;
      }
    }
    return this.inside;
  }

  private momentOf(step: number): number {
    let [low, high] = [0, this.moments.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.moments[middle] as number) <= step) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}

/** Return the bytes of a base64 text. */
export function bytesOf(text: string): ArrayBuffer {
  const code = atob(text);
  const bytes = new Uint8Array(code.length);
  for (let i = 0; i < code.length; i++) bytes[i] = code.charCodeAt(i);
  return bytes.buffer;
}
