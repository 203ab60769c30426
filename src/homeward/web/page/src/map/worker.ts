// The map's worker thread: fetches layers of steps, keeps their values and colours them.

import { Refusal, getBytes, runUrl, textOf } from "../api";
import { decode } from "../frames";
import type { FrameArray } from "../frames";
import { paint } from "./paint";
import type { Ground, How, Range } from "./paint";

export interface Painted {
  layer: string;
  how: How;
  fixed: Range | null; // the scale's ends where they are the same in all runs
}

export type Ask =
  | {
      kind: "show";
      ticket: number;
      run: string;
      step: number;
      ground: Ground;
      paint: Painted[];
      layers: string[]; // that are loaded as well
    }
  | { kind: "probe"; ticket: number; run: string; step: number; cell: number }
  | { kind: "forget"; run: string };

export interface Shown {
  layer: string;
  bitmap: ImageBitmap;
  side: number;
  range: Range;
}

export type Answer =
  | { kind: "shown"; ticket: number; step: number; pictures: Shown[] }
  | { kind: "probed"; ticket: number; step: number; cell: number; values: Record<string, number> }
  | { kind: "refused"; ticket: number; step: number; error: string; status: number; code: string | null };

const MAX_KEPT_BYTES = 192e6;

interface Known {
  layers: Map<string, FrameArray>;
  bytes: number;
}

const kept = new Map<string, Known>(); // by run and step, the last used last
const ranges = new Map<string, Range>(); // by run and layer: the ends of its scale
let bytes = 0;

const host = self as unknown as {
  onmessage: ((event: MessageEvent<Ask>) => void) | null;
  postMessage: (answer: Answer, transfer?: Transferable[]) => void;
};

host.onmessage = (event) => {
  const ask = event.data;
  if (ask.kind === "show") void show(ask);
  else if (ask.kind === "probe") probe(ask);
  else forget(ask.run);
};

async function show(ask: Extract<Ask, { kind: "show" }>): Promise<void> {
  try {
    const needed = [...ask.paint.map((p) => p.layer), ...ask.layers];
    const known = await fields(ask.run, ask.step, needed);
    const seen = known.get("seen")?.data ?? null;
    const pictures: Shown[] = [];
    for (const { layer, how, fixed } of ask.paint) {
      const array = known.get(layer);
      if (!array) throw new Error(`The server sent no layer ${layer}.`);
      const range = fixed ?? (await rangeOf(ask.run, layer, array, how));
      const { pixels, side } = paint(array.data, seen, ask.ground, how, range);
      const image = new ImageData(pixels, ask.ground.columns * side, ask.ground.rows * side);
      const bitmap = await createImageBitmap(image);
      pictures.push({ layer, bitmap, side, range });
    }
    host.postMessage(
      { kind: "shown", ticket: ask.ticket, step: ask.step, pictures },
      pictures.map((p) => p.bitmap),
    );
  } catch (cause) {
    const [status, code] = cause instanceof Refusal ? [cause.status, cause.code] : [0, null];
    const { ticket, step } = ask;
    host.postMessage({ kind: "refused", ticket, step, error: textOf(cause), status, code });
  }
}

function probe(ask: Extract<Ask, { kind: "probe" }>): void {
  const values: Record<string, number> = {};
  const known = kept.get(`${ask.run}/${ask.step}`);
  for (const [name, array] of known?.layers ?? []) {
    const value = array.data[ask.cell];
    if (value !== undefined) values[name] = value;
  }
  host.postMessage({ kind: "probed", ticket: ask.ticket, step: ask.step, cell: ask.cell, values });
}

function forget(run: string): void {
  for (const [key, known] of kept) {
    if (key.startsWith(`${run}/`)) {
      kept.delete(key);
      bytes -= known.bytes;
    }
  }
  for (const key of ranges.keys()) if (key.startsWith(`${run}/`)) ranges.delete(key);
}

/** Return layers of a step; fetch those that are missing in one frame. */
async function fields(run: string, step: number, layers: string[]): Promise<Known["layers"]> {
  const key = `${run}/${step}`;
  const before = kept.get(key);
  const missing = [...new Set(layers)].filter((layer) => !before?.layers.has(layer));
  if (missing.length) {
    const names = missing.map(encodeURIComponent).join(",");
    const buffer = await getBytes(runUrl(run, `/steps/${step}/fields?layers=${names}`));
    const frame = decode(buffer);
    const known = kept.get(key) ?? { layers: new Map<string, FrameArray>(), bytes: 0 };
    for (const [name, array] of frame.arrays) known.layers.set(name, array);
    known.bytes += buffer.byteLength;
    bytes += buffer.byteLength;
    kept.set(key, known);
  }
  const known = kept.get(key) as Known;
  kept.delete(key);
  kept.set(key, known);
  for (const [old, gone] of kept) {
    if (bytes <= MAX_KEPT_BYTES || old === key) break;
    kept.delete(old);
    bytes -= gone.bytes;
  }
  return known.layers;
}

/** Return the ends of a layer's scale: its range at step 0 and here; it stays for the run. */
async function rangeOf(run: string, layer: string, here: FrameArray, how: How): Promise<Range> {
  const key = `${run}/${layer}`;
  const known = ranges.get(key);
  if (known) return known;
  let range = spanOf(here);
  try {
    const first = (await fields(run, 0, [layer])).get(layer);
    const { low, high } = first ? spanOf(first) : range;
    range = { low: Math.min(range.low, low), high: Math.max(range.high, high) };
  } catch {
    // a scale without the first step will do
  }
  if (how.way === "scale" && how.log)
    range = { low: Math.max(range.low, range.high / 100), high: range.high };
  ranges.set(key, range);
  return range;
}

function spanOf(array: FrameArray): Range {
  return { low: array.min ?? 0, high: array.max ?? 1 }; // both are null without a finite value
}
