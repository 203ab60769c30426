// Fetches a step's layers, keeps their numbers and colours them, away from the thread that draws.

import { Refusal, getBytes, runUrl } from "../api";
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
      seen: boolean;
    }
  | { kind: "load"; ticket: number; run: string; step: number; layers: string[] }
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
  | { kind: "loaded"; ticket: number; step: number; layers: string[] }
  | { kind: "probed"; ticket: number; step: number; cell: number; values: Record<string, number> }
  | {
      kind: "refused";
      ticket: number;
      step: number;
      error: string;
      status: number;
      code: string | null;
    };

const ROOM = 192e6; // bytes of numbers that are kept

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
  else if (ask.kind === "load") void load(ask);
  else if (ask.kind === "probe") probe(ask);
  else forget(ask.run);
};

async function show(ask: Extract<Ask, { kind: "show" }>): Promise<void> {
  try {
    const needed = [...ask.paint.map((p) => p.layer), ...(ask.seen ? ["seen"] : [])];
    const known = await fields(ask.run, ask.step, needed);
    const pictures: Shown[] = [];
    for (const { layer, how, fixed } of ask.paint) {
      const array = known.get(layer);
      if (!array) throw new Error(`The server sent no layer ${layer}.`);
      const range = fixed ?? (await rangeOf(ask.run, layer, array, how));
      const seen = ask.seen ? (known.get("seen")?.data ?? null) : null;
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
    refuse(ask, cause);
  }
}

async function load(ask: Extract<Ask, { kind: "load" }>): Promise<void> {
  try {
    await fields(ask.run, ask.step, ask.layers);
    host.postMessage({ kind: "loaded", ticket: ask.ticket, step: ask.step, layers: ask.layers });
  } catch (cause) {
    refuse(ask, cause);
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

function refuse(ask: { ticket: number; step: number }, cause: unknown): void {
  const error = cause instanceof Error ? cause.message : String(cause);
  const [status, code] = cause instanceof Refusal ? [cause.status, cause.code] : [0, null];
  host.postMessage({ kind: "refused", ticket: ask.ticket, step: ask.step, error, status, code });
}

/** Give layers of a step, those that are not here yet from the server in one frame. */
async function fields(
  run: string,
  step: number,
  layers: string[],
): Promise<Map<string, FrameArray>> {
  const key = `${run}/${step}`;
  const before = kept.get(key);
  const missing = [...new Set(layers)].filter((layer) => !before?.layers.has(layer));
  if (missing.length) {
    const url = runUrl(
      run,
      `/steps/${step}/fields?layers=${missing.map(encodeURIComponent).join(",")}`,
    );
    const buffer = await getBytes(url);
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
    if (bytes <= ROOM || old === key) break;
    kept.delete(old);
    bytes -= gone.bytes;
  }
  return known.layers;
}

/** Give the ends of a layer's scale: what it spans before the first step and here; kept for the run. */
async function rangeOf(run: string, layer: string, here: FrameArray, how: How): Promise<Range> {
  const key = `${run}/${layer}`;
  const known = ranges.get(key);
  if (known) return known;
  let range = spanOf(here);
  try {
    const first = (await fields(run, 0, [layer])).get(layer);
    if (first) range = union(range, spanOf(first));
  } catch {
    // a scale without the first step will do
  }
  if (how.way === "scale" && how.log)
    range = { low: Math.max(range.low, range.high / 100), high: range.high };
  ranges.set(key, range);
  return range;
}

function union(a: Range, b: Range): Range {
  return { low: Math.min(a.low, b.low), high: Math.max(a.high, b.high) };
}

function spanOf(array: FrameArray): Range {
  if (array.min !== null && array.max !== null) return { low: array.min, high: array.max };
  let low = Infinity;
  let high = -Infinity;
  for (const value of array.data) {
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? { low, high } : { low: 0, high: 1 };
}
