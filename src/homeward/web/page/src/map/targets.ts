// The targets of a run: when each was first visited, and their mark.

import { MARK_COLOURS, STAR } from "./colours";

/** Return after how many steps each target on a path was first visited. */
export function firstVisits(targets: number[], start: number | null, next: Int32Array): Map<number, number> {
  const found = new Map<number, number>();
  const wanted = new Set(targets);
  for (let i = -1; i < next.length && found.size < wanted.size; i++) {
    const cell = i < 0 ? start : (next[i] as number);
    if (cell !== null && wanted.has(cell) && !found.has(cell)) found.set(cell, i + 1);
  }
  return found;
}

/** Draw a star at a point, filled once the target is reached; the radius is in pixels. */
export function drawTarget(
  context: CanvasRenderingContext2D,
  [x, y]: [number, number],
  radius: number,
  reached: boolean,
): void {
  const unit = radius / 10; // the star fits into a circle of radius 10
  const star = new Path2D(STAR);
  context.save();
  context.translate(x, y);
  context.scale(unit, unit);
  context.lineJoin = "round";
  for (const [colour, width] of [["#fff", 3], [MARK_COLOURS.ink, 1.5]] as const) {
    context.strokeStyle = colour;
    context.lineWidth = width / unit;
    context.stroke(star);
  }
  context.fillStyle = reached ? MARK_COLOURS.reached : "#fff";
  context.fill(star);
  context.restore();
}
