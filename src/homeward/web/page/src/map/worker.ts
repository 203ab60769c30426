// The map's worker thread: fetches layers of steps, keeps their values and colours them.

import { Refusal, getBytes, runUrl, textOf } from "../api";
import { decode } from "../frames";
import type { FrameArray } from "../frames";
import { borderOf } from "./contour";
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
      level: number | null; // cells with a way home below it are dimmed; null dims none
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
  | { kind: "shown"; ticket: number; step: number; pictures: Shown[]; border: Float32Array | null }
  | { kind: "probed"; ticket: number; step: number; cell: number; values: Record<string, number> }
  | { kind: "refused"; ticket: number; step: number; error: string; status: number; code: Refusal["code"] };

const MAX_KEPT_BYTES = 192e6;
const MAX_STEPS_BETWEEN = 64; // of two maps, up to which only what differs is fetched
const DIMMED_LAYERS = ["height", "slope"]; // on which cells without a way home are dimmed

interface Known {
  layers: Map<string, FrameArray>;
  bytes: number;
}

const kept = new Map<string, Known>(); // by run and step, the last used last
const scales = new Map<string, Range>(); // by run and layer: the ends of its scale
const newest = new Map<string, number>(); // by run: the step that was fetched last
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
    const { level, ground } = ask;
    const safe = level === null ? [] : ["v"];
    const needed = [...ask.paint.map((p) => p.layer), ...ask.layers, ...safe];
    const known = await fields(ask.run, ask.step, needed);
    const seen = known.get("seen")?.data ?? null;
    const pictures: Shown[] = [];
    const values = level === null ? null : (known.get("v")?.data ?? null);
    const lit =
      values && Uint8Array.from(values as Float64Array, (v) => (v >= (level ?? 0) - 1e-9 ? 1 : 0));
    const border = lit && borderOf(lit, ground.rows, ground.columns);
    for (const { layer, how, fixed } of ask.paint) {
      const array = known.get(layer);
      if (!array) throw new Error(`The server sent no layer ${layer}.`);
      const range = fixed ?? rangeOf(ask.run, layer, array, how);
      const { pixels, side } = paint(
        array.data,
        seen,
        ground,
        how,
        range,
        pictures.length === 0 && DIMMED_LAYERS.includes(layer) ? lit : null,
      );
      const image = new ImageData(pixels, ask.ground.columns * side, ask.ground.rows * side);
      const bitmap = await createImageBitmap(image);
      pictures.push({ layer, bitmap, side, range });
    }
    host.postMessage(
      { kind: "shown", ticket: ask.ticket, step: ask.step, pictures, border },
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
  newest.delete(run);
  for (const key of scales.keys()) if (key.startsWith(`${run}/`)) scales.delete(key);
}

/** Return layers of a step; fetch those that are missing in one frame. */
async function fields(run: string, step: number, layers: string[]): Promise<Known["layers"]> {
  const key = `${run}/${step}`;
  const before = kept.get(key);
  const missing = [...new Set(layers)].filter((layer) => !before?.layers.has(layer));
  if (missing.length) {
    const base = baseOf(run, step, missing);
    const names = missing.map(encodeURIComponent).join(",");
    const since = base === null ? "" : `&since=${base}`;
    const buffer = await getBytes(runUrl(run, `/steps/${step}/fields?layers=${names}${since}`));
    const frame = decode(buffer);
    const from = frame.since === undefined ? undefined : kept.get(`${run}/${frame.since}`);
    const known = kept.get(key) ?? { layers: new Map<string, FrameArray>(), bytes: 0 };
    for (const name of missing) {
      const array = patched(frame.arrays, name, from?.layers.get(name));
      if (!array) continue;
      known.layers.set(name, array);
      known.bytes += array.data.byteLength;
      bytes += array.data.byteLength;
    }
    for (const [name, ends] of Object.entries(frame.scales ?? {}))
      if (ends) scales.set(`${run}/${name}`, { low: ends[0], high: ends[1] });
    kept.set(key, known);
    newest.set(run, step);
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

/** Return the last step that was fetched, if it has the layers and only a few steps lie between. */
function baseOf(run: string, step: number, layers: string[]): number | null {
  const last = newest.get(run);
  if (last === undefined || last === step || Math.abs(step - last) > MAX_STEPS_BETWEEN) return null;
  const known = kept.get(`${run}/${last}`);
  return known && layers.every((layer) => known.layers.has(layer)) ? last : null;
}

/** Return a layer of a frame, which may hold only the cells that differ from an earlier one. */
function patched(
  arrays: Map<string, FrameArray>,
  name: string,
  before: FrameArray | undefined,
): FrameArray | undefined {
  const values = arrays.get(name);
  const cells = arrays.get(`${name}.cells`);
  if (!cells || !values || !before) return cells ? undefined : values;
  const data = before.data.slice();
  cells.data.forEach((cell, n) => (data[cell] = values.data[n] as number));
  return { ...before, data };
}

/** Return the ends of a layer's scale, the same at every step of the run. */
function rangeOf(run: string, layer: string, here: FrameArray, how: How): Range {
  const { low, high } = scales.get(`${run}/${layer}`) ?? { low: here.min ?? 0, high: here.max ?? 1 };
  return how.way === "scale" && how.log ? { low: Math.max(low, high / 100), high } : { low, high };
}
