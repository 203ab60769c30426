// The older part of the path on a canvas of its own: moves that were drawn in a view are not drawn again.

import { MARK_COLOURS } from "./colours";
import { Trail } from "./trail";

const MAX_COPIES = 8;
const MIN_MOVES_BETWEEN = 400; // two copies

/** Where a cell's centre is, in CSS pixels. */
export interface Places {
  x: (cell: number) => number;
  y: (cell: number) => number;
}

export class Ink {
  private readonly trail = new Trail();
  private readonly canvas = new OffscreenCanvas(1, 1);
  private view = "";
  private count = 0; // moves that are drawn
  private copies: { canvas: OffscreenCanvas; count: number }[] = []; // after fewer moves, to go back to
  private returned = false; // whether the cursor went back in this view; copies are made only then

  /** Return a picture, as large as `like`, of the path up to a step; null if there is nothing to draw.
   *
   * `view` names the part of the map on view: `places` are the same if it is.
   */
  upTo(
    step: number,
    [start, next]: [number, Int32Array],
    like: HTMLCanvasElement,
    ratio: number,
    view: string,
    width: number,
    places: Places,
  ): OffscreenCanvas | null {
    const ink = this.canvas.getContext("2d");
    if (!ink) return null;
    const same = this.trail.follow(start, next);
    const count = this.trail.upTo(step);
    const seen = `${view}/${like.width}/${like.height}`;
    if (!same || this.view !== seen) {
      this.view = seen;
      this.copies = [];
      this.returned = false;
      this.begin(ink, like, null);
    }
    this.returned ||= this.count > count;
    const copy = this.copies.filter((each) => each.count <= count).pop();
    if (this.count > count || (copy && copy.count > this.count)) this.begin(ink, like, copy ?? null);
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
    const part = Math.max(MIN_MOVES_BETWEEN, Math.ceil(this.trail.count / MAX_COPIES));
    while (this.count < count) {
      const due = (this.copies[this.copies.length - 1]?.count ?? 0) + part;
      const until = this.returned && this.count < due ? Math.min(count, due) : count;
      this.draw(ink, until, like.width / ratio, like.height / ratio, width, places);
      if (this.returned && this.count === due) this.copy();
    }
    return this.canvas;
  }

  private begin(
    ink: OffscreenCanvasRenderingContext2D,
    like: HTMLCanvasElement,
    from: { canvas: OffscreenCanvas; count: number } | null,
  ): void {
    if (this.canvas.width !== like.width) this.canvas.width = like.width;
    if (this.canvas.height !== like.height) this.canvas.height = like.height;
    ink.setTransform(1, 0, 0, 1, 0, 0);
    ink.clearRect(0, 0, like.width, like.height);
    if (from) ink.drawImage(from.canvas, 0, 0);
    this.count = from?.count ?? 0;
  }

  private copy(): void {
    const canvas = new OffscreenCanvas(this.canvas.width, this.canvas.height);
    canvas.getContext("2d")?.drawImage(this.canvas, 0, 0);
    this.copies.push({ canvas, count: this.count });
    if (this.copies.length > 2 * MAX_COPIES) this.copies = this.copies.filter((_, n) => n % 2);
  }

  /** Draw the moves after those that are drawn, up to a number of them. */
  private draw(
    ink: OffscreenCanvasRenderingContext2D,
    until: number,
    wide: number,
    high: number,
    width: number,
    { x, y }: Places,
  ): void {
    const { from, to } = this.trail;
    const path = new Path2D();
    const outside = (cell: number): boolean =>
      x(cell) < -50 || y(cell) < -50 || x(cell) > wide + 50 || y(cell) > high + 50;
    let last = -1;
    for (let i = this.count; i < until; i++) {
      const [a, b] = [from[i] as number, to[i] as number];
      if (outside(a) && outside(b)) continue;
      if (a !== last) path.moveTo(x(a), y(a));
      path.lineTo(x(b), y(b));
      last = b;
    }
    ink.lineJoin = ink.lineCap = "round";
    ink.strokeStyle = "#fff";
    ink.lineWidth = width + 1;
    ink.stroke(path);
    ink.strokeStyle = MARK_COLOURS.ink;
    ink.lineWidth = width * 0.8;
    ink.stroke(path);
    this.count = until;
  }
}
