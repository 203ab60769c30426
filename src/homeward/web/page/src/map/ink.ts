// The older part of the path on a canvas of its own: moves that were drawn in a view are not drawn again.

import { MARK_COLOURS } from "./colours";
import { Trail } from "./trail";

const MAX_MOVES = 500; // drawn in a frame; thousands would take longer than a frame
const MAX_COPIES = 8;
const MIN_MOVES_BETWEEN = 400; // two copies

/** The part of the map on view. All lengths are in CSS pixels. */
export interface View {
  left: number; // of the map's first column
  top: number; // of its first row
  across: number; // width of a cell
  down: number; // height of a cell
  columns: number; // of the map
  wide: number; // of the canvas
  high: number;
  ratio: number; // canvas pixels per CSS pixel
}

export class Ink {
  private readonly trail = new Trail();
  private canvas = new OffscreenCanvas(1, 1);
  private view: View | null = null;
  private count = 0; // moves that are drawn
  private complete = false; // whether these are all moves up to the step
  private spare = new OffscreenCanvas(1, 1); // holds the path in the earlier view, if there is one
  private earlier: View | null = null; // the last view with a complete path, until this one's is
  private copies: { canvas: OffscreenCanvas; count: number }[] = []; // after fewer moves, to go back to
  private returned = false; // whether the cursor went back in this view; copies are made only then

  /** Draw the path up to a step; return whether it is complete, else it must be drawn again.
   *
   * In a new view, the path of the earlier one is shown, moved and scaled, until the path is complete.
   */
  draw(
    context: CanvasRenderingContext2D,
    step: number,
    [start, next]: [number, Int32Array],
    view: View,
    width: number,
  ): boolean {
    const ink = this.prepare(this.trail.follow(start, next), view);
    if (!ink) return true;
    const count = this.trail.upTo(step);
    this.returned ||= this.count > count;
    const copy = this.copies.filter((each) => each.count <= count).pop();
    if (this.count > count || (copy && copy.count > this.count)) this.begin(ink, copy ?? null);
    const part = Math.max(MIN_MOVES_BETWEEN, Math.ceil(this.trail.count / MAX_COPIES));
    const end = Math.min(count, this.count + MAX_MOVES);
    while (this.count < end) {
      const due = (this.copies[this.copies.length - 1]?.count ?? 0) + part;
      const until = this.returned && this.count < due ? Math.min(end, due) : end;
      this.stroke(ink, until, view, width);
      if (this.returned && this.count === due) this.copy();
    }
    this.complete = this.count === count;
    if (this.complete) this.earlier = null;
    context.globalAlpha = 0.8;
    if (!this.earlier) context.drawImage(this.canvas, 0, 0, view.wide, view.high);
    else {
      const { left, top, across, down, wide, high } = this.earlier;
      const [x, y] = [view.across / across, view.down / down];
      context.imageSmoothingEnabled = true;
      context.drawImage(this.spare, view.left - left * x, view.top - top * y, wide * x, high * y);
    }
    context.globalAlpha = 1;
    return this.complete;
  }

  /** Return the context of the canvas; begin anew if the path or the view has changed. */
  private prepare(same: boolean, view: View): OffscreenCanvasRenderingContext2D | null {
    const before = this.view;
    const moved = JSON.stringify(before) !== JSON.stringify(view);
    if (moved && before && this.complete) {
      [this.canvas, this.spare] = [this.spare, this.canvas];
      this.earlier = before;
    }
    if (!same) this.earlier = null;
    const ink = this.canvas.getContext("2d");
    if (!ink || (same && !moved)) return ink;
    this.view = view;
    this.copies = [];
    this.returned = this.complete = false;
    const [width, height] = [Math.round(view.wide * view.ratio), Math.round(view.high * view.ratio)];
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== height) this.canvas.height = height;
    this.begin(ink, null);
    return ink;
  }

  private begin(
    ink: OffscreenCanvasRenderingContext2D,
    from: { canvas: OffscreenCanvas; count: number } | null,
  ): void {
    ink.setTransform(1, 0, 0, 1, 0, 0);
    ink.clearRect(0, 0, this.canvas.width, this.canvas.height);
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
  private stroke(
    ink: OffscreenCanvasRenderingContext2D,
    until: number,
    { left, top, across, down, columns, wide, high, ratio }: View,
    width: number,
  ): void {
    const { from, to } = this.trail;
    const path = new Path2D();
    const x = (cell: number): number => left + ((cell % columns) + 0.5) * across;
    const y = (cell: number): number => top + (Math.floor(cell / columns) + 0.5) * down;
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
    ink.setTransform(ratio, 0, 0, ratio, 0, 0);
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
