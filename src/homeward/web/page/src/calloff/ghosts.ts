// Ghosts: explorers that walk one way home, each in a world of its own that the belief holds possible.

import { computed, signal } from "@preact/signals";
import { MARK_COLOURS } from "../map/colours";
import type { Fate } from "./hundred";
import { randoms } from "./world";

const SQUARES_PER_SECOND = 5;
const MAX_SECONDS = 8; // longer ways are walked faster
const SPREAD = 1.6; // seconds between the first ghost and the last one

interface Ghost {
  lost: number; // the place on the path where it is lost, −1 if it comes home
  start: number; // seconds after the first one
  dx: number; // beside the middle of the cells, in cells
  dy: number;
}

/** A walk of many ghosts: where they are by now, and what became of them. */
export class Walk {
  readonly ghosts = signal<Ghost[]>([]);
  readonly time = signal(0); // seconds since the first ghost left
  readonly walking = signal(false);
  path: number[] = [];
  turns = 0; // the place on the path where they are called off
  private pace = SQUARES_PER_SECOND;
  private frame = 0;

  /** What became of each ghost so far: a text, which rarely changes. */
  readonly fates = computed(() => this.ghosts.value.map((ghost) => this.fateOf(ghost)).join(" "));

  /** Let ghosts walk a path; `lost` has the place where each is lost, −1 for those who come home. */
  begin(path: number[], lost: number[], turns: number, seed: number, done: () => void): void {
    this.clear();
    const random = randoms(seed);
    const start = (i: number): number => (SPREAD * i) / lost.length;
    this.path = path;
    this.turns = turns;
    this.pace = Math.max(SQUARES_PER_SECOND, path.length / MAX_SECONDS);
    this.ghosts.value = lost.map((place, i) => ({
      lost: place,
      start: start(i),
      dx: (random() - 0.5) * 0.5,
      dy: (random() - 0.5) * 0.5,
    }));
    const whole = path.length / this.pace + SPREAD;
    if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
      this.time.value = whole;
      done();
      return;
    }
    const began = performance.now();
    this.walking.value = true;
    const advance = (now: number): void => {
      this.time.value = Math.max(0, (now - began) / 1000);
      if (this.time.value < whole) this.frame = requestAnimationFrame(advance);
      else {
        this.walking.value = false;
        done();
      }
    };
    this.frame = requestAnimationFrame(advance);
  }

  stop(): void {
    cancelAnimationFrame(this.frame);
    this.walking.value = false;
  }

  clear(): void {
    this.stop();
    if (!this.ghosts.peek().length) return;
    this.ghosts.value = [];
    this.time.value = 0;
  }

  /** Draw the ghosts, and on cells where some were lost their number; `side` is a cell in pixels. */
  draw(context: CanvasRenderingContext2D, centre: (cell: number) => [number, number], side: number): void {
    const lost = new Map<number, number>();
    const radius = Math.max(2.5, side * 0.1);
    for (const ghost of this.ghosts.value) {
      const at = (this.time.value - ghost.start) * this.pace;
      if (at < 0) continue;
      const cell = this.path[ghost.lost];
      if (cell !== undefined && at >= ghost.lost) {
        lost.set(cell, (lost.get(cell) ?? 0) + 1);
        continue;
      }
      const end = this.path.length - 1;
      const place = Math.min(at, end);
      const from = Math.floor(place);
      const [ax, ay] = centre(this.path[from] as number);
      const [bx, by] = centre(this.path[Math.min(from + 1, end)] as number);
      const part = place - from;
      context.beginPath();
      context.arc(ax + (bx - ax) * part + ghost.dx * side, ay + (by - ay) * part + ghost.dy * side, radius, 0, 2 * Math.PI);
      context.fillStyle = place < this.turns ? "rgba(15,108,180,0.85)" : "rgba(0,128,107,0.9)";
      context.strokeStyle = "rgba(255,255,255,0.9)";
      context.lineWidth = 1.5;
      context.stroke();
      context.fill();
    }
    context.textAlign = "center";
    context.textBaseline = "middle";
    const box = Math.max(18, side * 0.84);
    context.font = `700 ${Math.max(11, side * 0.4)}px system-ui, sans-serif`;
    for (const [cell, count] of lost) {
      const [x, y] = centre(cell);
      context.fillStyle = MARK_COLOURS.lost;
      context.fillRect(x - box / 2, y - box / 2, box, box);
      context.fillStyle = "#fff";
      context.fillText(String(count), x, y + 1);
    }
  }

  private fateOf(ghost: Ghost): Fate {
    const at = (this.time.value - ghost.start) * this.pace;
    if (ghost.lost >= 0) return at >= ghost.lost ? "lost" : "waiting";
    return at >= this.path.length - 1 ? "home" : "waiting";
  }
}
