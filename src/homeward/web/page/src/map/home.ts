// The mark of a home.

import { HOUSE, MARK_COLOURS } from "./colours";

/** Draw a house in a circle around a point; radius and line width are in pixels. */
export function drawHome(
  context: CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D,
  [x, y]: [number, number],
  radius: number,
  width: number,
): void {
  const unit = radius / 10; // the house fits into a circle of radius 10
  context.save();
  context.translate(x, y);
  context.scale(unit, unit);
  context.beginPath();
  context.arc(0, 0, 10, 0, 2 * Math.PI);
  context.fillStyle = "#fff";
  context.fill();
  context.strokeStyle = MARK_COLOURS.way;
  context.lineWidth = width / unit;
  context.lineJoin = "round";
  context.stroke();
  context.stroke(new Path2D(HOUSE));
  context.restore();
}
