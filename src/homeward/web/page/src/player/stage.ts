// The map of a playback on a canvas: ground, what has no way home dimmed, path, home and explorer.

import { MARK_COLOURS } from "../map/colours";
import { drawHome } from "../map/home";
import { borderOf } from "../map/contour";
import { paint } from "../map/paint";
import { drawTarget } from "../map/targets";
import type { Ground, Range } from "../map/paint";
import type { Playback } from "./playback";

const { ink: INK, way: WAY, here: HERE, lost: LOST } = MARK_COLOURS;
const RECENT_STEPS = 40; // that are drawn stronger

export class Stage {
  private readonly picture = document.createElement("canvas");
  private readonly range: Range;
  private painted = ""; // the step and colours of the picture
  private border: Float32Array = new Float32Array();

  constructor(
    readonly canvas: HTMLCanvasElement,
    readonly playback: Playback,
  ) {
    const finite = playback.height.filter((height) => Number.isFinite(height));
    this.range = {
      low: finite.reduce((a, b) => Math.min(a, b), Infinity),
      high: finite.reduce((a, b) => Math.max(a, b), -Infinity),
    };
  }

  /** Draw the moment after a number of steps. */
  draw(step: number, dark: boolean): void {
    const { stored } = this.playback;
    const shown = Math.min(step, stored.steps);
    const context = this.canvas.getContext("2d");
    const ratio = window.devicePixelRatio || 1;
    const [wide, high] = [this.canvas.clientWidth, this.canvas.clientHeight];
    if (!context || !wide || !high) return;
    const [width, height] = [Math.round(wide * ratio), Math.round(high * ratio)];
    if (this.canvas.width !== width || this.canvas.height !== height) {
      this.canvas.width = width;
      this.canvas.height = height;
    }
    this.paint(shown, dark);
    const [rows, columns] = stored.shape;
    const [x, y] = [wide / columns, high / rows];
    const centre = (cell: number): [number, number] => [
      ((cell % columns) + 0.5) * x,
      (Math.floor(cell / columns) + 0.5) * y,
    ];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(this.picture, 0, 0, wide, high);
    const line = new Path2D();
    for (let i = 0; i < this.border.length; i += 4) {
      const [a, b, c, d] = this.border.subarray(i, i + 4) as unknown as [number, number, number, number];
      line.moveTo(a * x, b * y);
      line.lineTo(c * x, d * y);
    }
    context.strokeStyle = WAY;
    context.lineWidth = 1.4;
    context.stroke(line);
    this.drawPath(context, shown, centre);
    const reached = stored.targets.filter((cell) => (this.playback.reached.get(cell) ?? Infinity) <= shown);
    for (const cell of stored.targets) drawTarget(context, centre(cell), 9, reached.includes(cell));
    this.canvas.dataset["reached"] = reached.join(" "); // for tests and other observers
    for (const home of stored.homes) drawHome(context, centre(home), 10, 2);
    const lost = stored.trapped !== null && shown >= stored.trapped;
    context.beginPath();
    context.arc(...centre(this.playback.here(shown)), 6, 0, 2 * Math.PI);
    context.fillStyle = lost ? LOST : HERE;
    context.strokeStyle = "#fff";
    context.lineWidth = 2.5;
    context.stroke();
    context.fill();
    this.canvas.dataset["step"] = String(shown); // for tests and other observers
  }

  /** Colour the ground and dim what has no way home. */
  private paint(step: number, dark: boolean): void {
    const key = `${step}/${dark}`;
    if (this.painted === key) return;
    this.painted = key;
    const { stored, height } = this.playback;
    const [rows, columns] = stored.shape;
    const ground: Ground = { rows, columns, cell: stored.cell, marked: stored.grid, dark };
    const seen = this.playback.seen(step);
    const how = stored.grid
      ? ({ way: "heights" } as const)
      : ({ way: "relief", palette: "ground" } as const);
    const values = stored.grid ? height.map((h, i) => (seen[i] || h < 0 ? h : NaN)) : height;
    const region = this.playback.region(step);
    const { pixels, side } = paint(values, seen, ground, how, this.range, region);
    this.picture.width = columns * side;
    this.picture.height = rows * side;
    const image = new ImageData(pixels, columns * side, rows * side);
    this.picture.getContext("2d")?.putImageData(image, 0, 0);
    this.border = borderOf(region, rows, columns);
  }

  private drawPath(
    context: CanvasRenderingContext2D,
    step: number,
    centre: (cell: number) => [number, number],
  ): void {
    context.lineJoin = context.lineCap = "round";
    for (const [from, alpha] of [[0, 0.55], [Math.max(0, step - RECENT_STEPS), 1]] as const) {
      const path = new Path2D();
      for (let i = from; i <= step; i++) path.lineTo(...centre(this.playback.here(i)));
      context.globalAlpha = alpha;
      context.strokeStyle = "rgba(255,255,255,0.9)";
      context.lineWidth = 4;
      context.stroke(path);
      context.strokeStyle = INK;
      context.lineWidth = 2;
      context.stroke(path);
    }
    context.globalAlpha = 1;
  }
}
