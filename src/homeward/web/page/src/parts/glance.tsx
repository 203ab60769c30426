// A glance at a run: a thumbnail of its last step, the share of the cells that were seen, and whether
// it was trapped. Loaded for rows on view, two at a time.

import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { getJson, runUrl } from "../api";
import type { Glance, Summary } from "../api";
import { HEIGHTS, MARK_COLOURS } from "../map/colours";
import { paint } from "../map/paint";
import type { Numbers } from "../frames";
import { bytesOf } from "../player/playback";
import { dark } from "./theme";

/** Glances by run; null while one is loaded, or if there is none. */
export const glances = signal<ReadonlyMap<string, Glance | null>>(new Map());

const [MAX_LOADING, MAX_LIVE_AGE] = [2, 20]; // at a time; steps after which a live one is loaded again
const taken = new Map<string, string>(); // by run: of which state its glance is
const waiting: Summary[] = [];
let loading = 0;

/** Load the glance of a run unless it is there. */
export function glanceAt(run: Summary): void {
  if (run.kind === null || run.shape === null || !run.steps || run.status === "damaged") return;
  const age = run.live ? Math.floor(run.steps / MAX_LIVE_AGE) : run.steps;
  const state = [run.created, run.status, age].join("/");
  if (taken.get(run.id) === state) return;
  taken.set(run.id, state);
  waiting.push(run);
  next();
}

function next(): void {
  while (loading < MAX_LOADING && waiting.length) {
    const run = waiting.shift() as Summary;
    loading++;
    getJson<Glance>(runUrl(run.id, "/glance"))
      .then((glance) => (glances.value = new Map(glances.value).set(run.id, glance)))
      .catch(() => taken.delete(run.id)) // a row does without
      .finally(() => {
        loading--;
        next();
      });
  }
}

export function Thumbnail({ run }: { run: string }) {
  const element = useRef<HTMLCanvasElement>(null);
  const glance = glances.value.get(run);
  const night = dark.value;
  useEffect(() => {
    const canvas = element.current;
    if (canvas && glance) draw(canvas, glance, night);
  }, [glance, night]);
  return <canvas class={glance ? "thumbnail" : "thumbnail empty"} ref={element} aria-hidden="true" />;
}

function draw(canvas: HTMLCanvasElement, glance: Glance, night: boolean): void {
  const [rows, columns] = glance.shape;
  const values = new Float32Array(bytesOf(glance.height));
  const seen: Numbers = new Uint8Array(bytesOf(glance.seen));
  const finite = values.filter((_, i) => seen[i] || !glance.grid);
  const range = {
    low: glance.grid ? 1 : finite.reduce((a, b) => Math.min(a, b), Infinity),
    high: glance.grid ? HEIGHTS.length : finite.reduce((a, b) => Math.max(a, b), -Infinity),
  };
  const ground = { rows, columns, cell: null, marked: false, dark: night };
  const how = { way: "relief", palette: "ground" } as const;
  const { pixels } = paint(values, seen, ground, how, range);
  const picture = new OffscreenCanvas(columns, rows);
  picture.getContext("2d")?.putImageData(new ImageData(pixels, columns, rows), 0, 0);
  const zoom = Math.max(1, Math.min(192 / columns, 128 / rows));
  canvas.width = Math.round(columns * zoom);
  canvas.height = Math.round(rows * zoom);
  const context = canvas.getContext("2d");
  if (!context) return;
  context.imageSmoothingEnabled = false;
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  const path = new Int32Array(bytesOf(glance.path));
  const at = (cell: number): [number, number] => [
    ((cell % columns) + 0.5) * zoom,
    (Math.floor(cell / columns) + 0.5) * zoom,
  ];
  const line = new Path2D();
  path.forEach((cell) => line.lineTo(...at(cell)));
  context.lineWidth = 2;
  context.strokeStyle = MARK_COLOURS.ink;
  context.stroke(line);
  const end = path[path.length - 1];
  if (end === undefined) return;
  context.beginPath();
  context.arc(...at(end), 6, 0, 2 * Math.PI);
  context.fillStyle = glance.trapped === null ? MARK_COLOURS.here : MARK_COLOURS.lost;
  context.fill();
}
