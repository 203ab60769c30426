// The one time cursor: everything on the page shows the moment after `step` steps.

import { computed, effect, signal } from "@preact/signals";
import type { RunModel } from "./model";

export const SPEEDS = [1, 2, 5, 10, 20, 50, 100, 200, 500] as const; // steps a second

const [REPLAY_SPEED, REPLAY_SECONDS] = [10, 10]; // least steps a second, longest time

export class Cursor {
  readonly step = signal(0);
  readonly playing = signal(false);
  readonly speed = signal<number>(5);
  readonly follow = signal(false);
  readonly last = computed(() => Math.max(0, ...this.runs.map((run) => run.count.value)));
  readonly live = computed(() => this.runs.some((run) => run.going.value));

  readonly placed = signal(false); // whether it stands where it was to start
  private wasLive: boolean | null = null; // before anything is known
  private wanted: number | null;
  private at = 0; // the cursor with its fraction of a step, while playing
  private frame = 0;
  private then = 0;
  private readonly stops: (() => void)[];

  /** Start at `step`; if that is null, at the first moment, or where a run is that goes. One that was
   * started just now and has ended already is played. */
  constructor(
    readonly runs: readonly RunModel[],
    step: number | null,
    private readonly started: boolean,
  ) {
    this.wanted = step;
    this.stops = [
      effect(() => {
        const last = this.last.value;
        if (!this.placed.peek() && this.known) this.place(last);
        if (this.follow.value && this.placed.peek()) this.step.value = last;
      }),
      effect(() => {
        // A run that goes on is followed, if the cursor stands where it had stopped.
        const before = this.wasLive;
        this.wasLive = this.known ? this.live.value : null;
        if (before === false && this.wasLive && this.step.peek() >= this.last.peek())
          this.follow.value = !this.playing.peek();
      }),
      effect(() => {
        if (this.playing.value) {
          this.at = this.step.peek();
          this.then = performance.now();
          this.frame = requestAnimationFrame(this.advance);
        } else cancelAnimationFrame(this.frame);
      }),
    ];
  }

  close(): void {
    this.stops.forEach((stop) => stop());
    cancelAnimationFrame(this.frame);
  }

  /** The step for a link; null while the cursor follows a run. */
  get linked(): number | null {
    if (!this.placed.value) return this.wanted;
    return this.follow.value && this.live.value ? null : this.step.value;
  }

  jump(step: number): void {
    this.follow.value = false;
    this.set(step);
  }

  by(steps: number): void {
    this.playing.value = false;
    this.jump(this.step.value + steps);
  }

  toggle(): void {
    if (!this.playing.value) {
      this.follow.value = false;
      if (this.step.value >= this.last.value) this.set(0);
    }
    this.playing.value = !this.playing.value;
  }

  faster(by: 1 | -1): void {
    const here = SPEEDS.findIndex((speed) => speed >= this.speed.value);
    this.speed.value = SPEEDS[Math.max(0, Math.min(SPEEDS.length - 1, here + by))] ?? 5;
  }

  setFollow(follow: boolean): void {
    this.playing.value = false;
    this.follow.value = follow;
  }

  /** Whether all that can be known of the runs has come; of one that is missing there is nothing. */
  private get known(): boolean {
    return this.runs.every((run) => run.details.value !== null || run.missing.value !== "");
  }

  private place(last: number): void {
    const all = this.runs.every((run) => run.count.value >= (run.details.value?.steps ?? 0));
    if (this.wanted === null) {
      const finished = this.started && !this.live.value;
      if (finished && !all) return; // its steps are still to come
      this.follow.value = this.live.value;
      this.step.value = this.follow.value ? last : 0;
      this.placed.value = true;
      if (finished) this.replay(last);
      return;
    }
    this.step.value = Math.min(this.wanted, last);
    this.placed.value = all || this.wanted <= last;
  }

  /** Play a run that ended before it could be watched, in a few seconds. */
  private replay(last: number): void {
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (still) this.step.value = last;
    else {
      const wanted = Math.max(REPLAY_SPEED, last / REPLAY_SECONDS);
      this.speed.value = SPEEDS.find((speed) => speed >= wanted) ?? 500;
      this.playing.value = true;
    }
  }

  private set(step: number): void {
    this.placed.value = true;
    this.step.value = Math.max(0, Math.min(this.last.value, Math.round(step)));
    this.at = this.step.value;
  }

  private readonly advance = (now: number): void => {
    const passed = Math.min(0.25, (now - this.then) / 1000);
    this.then = now;
    this.at = Math.min(this.last.value, this.at + passed * this.speed.value);
    if (Math.floor(this.at) > this.step.value) this.step.value = Math.floor(this.at);
    if (this.at >= this.last.value && !this.live.value) this.playing.value = false;
    else this.frame = requestAnimationFrame(this.advance);
  };
}
