// From numbers to pixels. Runs in the worker; knows nothing of runs, views or canvases.

import type { Numbers } from "../frames";
import { HEIGHTS, NO, YES, surroundings, table } from "./colours";
import type { Palette, Rgb, Surroundings } from "./colours";

export type How =
  | { way: "relief"; palette: Palette; dims?: boolean } // what is unseen: paler, or else grey
  | { way: "heights" }
  | { way: "marks" }
  | { way: "scale"; palette: Palette; log: boolean };

export interface Ground {
  rows: number;
  columns: number;
  cell: [number, number] | null; // m, for the slopes of a relief
  marked: boolean; // unseen squares get a mark, as on grids
  dark: boolean; // whether the page is dark
}

export interface Range {
  low: number;
  high: number;
}

export interface Picture {
  pixels: Uint8ClampedArray<ArrayBuffer>; // [rows · side, columns · side, 4]
  side: number; // pixels along a cell
}

const LARGEST = 1536; // pixels along a picture whose cells have an inside

/** Return the pixels per cell: several if squares have an inside to show. */
export function sideOf(ground: Ground, how: How): number {
  if (!ground.marked && how.way !== "heights") return 1;
  const fits = Math.floor(LARGEST / Math.max(ground.rows, ground.columns));
  return Math.max(1, Math.min(24, fits));
}

/** Colour a layer.
 *
 * `seen` [R, C] marks the cells that were seen, null for all. Cells that are not `lit` [R, C] are
 * dimmed; null dims none.
 */
export function paint(
  values: Numbers,
  seen: Numbers | null,
  ground: Ground,
  how: How,
  range: Range,
  lit: ArrayLike<number> | null = null,
): Picture {
  const side = sideOf(ground, how);
  const around = surroundings(ground.dark);
  const cells = new Uint8ClampedArray(ground.rows * ground.columns * 4);
  if (how.way === "relief") relief(values, seen, ground, how, range, around, cells);
  else if (how.way === "heights") heights(values, around, cells);
  else if (how.way === "marks") values.forEach((value, i) => put(cells, i * 4, value ? YES : NO));
  else scale(values, how, range, around, cells);
  if (side === 1) {
    if (lit) dim(cells, lit, ground, 1);
    return { pixels: cells, side };
  }
  const pixels = enlarge(cells, values, seen, ground, how, around, side);
  if (lit) dim(pixels, lit, ground, side);
  return { pixels, side };
}

const [DIMMED, DIM_TO] = [0.42, [22, 30, 38]] as const; // how much is left, and of what colour the rest is

/** Return a colour as it is dimmed. */
export function dimmed([r, g, b]: Rgb): Rgb {
  const of = (part: number, to: number): number => Math.round(DIMMED * part + (1 - DIMMED) * to);
  return [of(r, DIM_TO[0]), of(g, DIM_TO[1]), of(b, DIM_TO[2])];
}

/** Dim the cells that are not lit. */
function dim(
  pixels: Uint8ClampedArray,
  lit: ArrayLike<number>,
  { columns }: Ground,
  side: number,
): void {
  const width = columns * side;
  for (let i = 0; i < lit.length; i++) {
    if (lit[i]) continue;
    const start = Math.floor(i / columns) * side * width + (i % columns) * side;
    for (let y = 0; y < side; y++) {
      for (let at = 4 * (start + y * width), end = at + 4 * side; at < end; at += 4) {
        for (let part = 0; part < 3; part++) {
          pixels[at + part] =
            DIMMED * (pixels[at + part] as number) + (1 - DIMMED) * (DIM_TO[part] as number);
        }
      }
    }
  }
}

function put(out: Uint8ClampedArray, at: number, colour: Rgb): void {
  for (let part = 0; part < 3; part++) out[at + part] = colour[part] as number;
  out[at + 3] = 255;
}

/** Write a colour of a table, times a brightness. */
function shaded(
  out: Uint8ClampedArray,
  at: number,
  colours: Uint8Array,
  index: number,
  light: number,
): void {
  for (let part = 0; part < 3; part++) out[at + part] = (colours[3 * index + part] as number) * light;
  out[at + 3] = 255;
}

function scale(
  values: Numbers,
  how: { palette: Palette; log: boolean },
  range: Range,
  around: Surroundings,
  out: Uint8ClampedArray,
): void {
  const colours = table(how.palette);
  const place = placer(range, how.log);
  for (let i = 0, at = 0; i < values.length; i++, at += 4) {
    const value = values[i] as number;
    if (value !== value) put(out, at, around.wall); // no data
    else shaded(out, at, colours, place(value), 1);
  }
}

/** Return the function from a value to its index, 0 to 255, in a table of colours. */
export function placer(range: Range, log: boolean): (value: number) => number {
  const { low, high } = range;
  if (log) {
    const bottom = Math.log(Math.max(low, 1e-9));
    const unit = 255 / Math.max(1e-9, Math.log(Math.max(high, 1e-9)) - bottom);
    return (value) =>
      Math.max(0, Math.min(255, Math.round((Math.log(Math.max(value, 1e-12)) - bottom) * unit)));
  }
  const unit = high > low ? 255 / (high - low) : 0;
  return (value) => Math.max(0, Math.min(255, Math.round((value - low) * unit)));
}

const [PALE, GREY] = [0.5, 208]; // how much is left of a dimmed colour; the rest is this grey

/** Colour heights and shade their slopes, light from the north-west; what is unseen is apart. */
function relief(
  values: Numbers,
  seen: Numbers | null,
  ground: Ground,
  how: { palette: Palette; dims?: boolean },
  range: Range,
  around: Surroundings,
  out: Uint8ClampedArray,
): void {
  const { rows, columns } = ground;
  const [dy, dx] = ground.cell ?? [1, 1];
  const colours = table(how.palette);
  const others = how.dims ? paler(colours) : table(around.greys);
  const place = placer(range, false);
  // Steepness is exaggerated where the ground is flat, so that any relief shows.
  const lift = (0.12 * Math.max(rows * dy, columns * dx)) / Math.max(1e-6, range.high - range.low);
  const strength = Math.min(3, Math.max(1, lift));
  for (let r = 0; r < rows; r++) {
    const above = r > 0 ? -columns : 0;
    const below = r < rows - 1 ? columns : 0;
    const tall = above && below ? 2 * dy : dy;
    for (let c = 0; c < columns; c++) {
      const i = r * columns + c;
      const value = values[i] as number;
      if (value !== value) {
        put(out, i * 4, around.wall);
        continue;
      }
      const left = c > 0 ? -1 : 0;
      const right = c < columns - 1 ? 1 : 0;
      const wide = left && right ? 2 * dx : dx;
      const east =
        (((values[i + right] as number) - (values[i + left] as number)) / wide) * strength;
      const south =
        (((values[i + below] as number) - (values[i + above] as number)) / tall) * strength;
      // normal (−east, −south, 1) against light (−1, −1, √2) / 2
      let shade = (east + south + Math.SQRT2) / (2 * Math.sqrt(1 + east * east + south * south));
      if (shade !== shade) shade = Math.SQRT1_2;
      const light = 0.5 + 0.66 * Math.max(0, shade);
      const known = seen === null || seen[i] !== 0;
      const from = known ? colours : others;
      shaded(out, i * 4, from, place(value), light);
    }
  }
}

function paler(colours: Uint8Array): Uint8Array {
  return colours.map((part) => Math.round(PALE * part + (1 - PALE) * GREY));
}

function isWall(value: number): boolean {
  return value < 0;
}

function heights(values: Numbers, around: Surroundings, out: Uint8ClampedArray): void {
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (isWall(value)) put(out, i * 4, around.wall);
    else if (value !== value || value < 0.5) put(out, i * 4, around.unseen);
    else put(out, i * 4, HEIGHTS[Math.min(5, Math.max(1, Math.round(value))) - 1] as Rgb);
  }
}

/** Enlarge cells: a higher square is larger, and one that was not seen has a dot. */
function enlarge(
  cells: Uint8ClampedArray,
  values: Numbers,
  seen: Numbers | null,
  ground: Ground,
  how: How,
  around: Surroundings,
  side: number,
): Uint8ClampedArray<ArrayBuffer> {
  const { rows, columns } = ground;
  const width = columns * side;
  const small = new Uint32Array(cells.buffer);
  const out = new Uint8ClampedArray(rows * side * width * 4);
  const large = new Uint32Array(out.buffer);
  const floor = packed(around.floor);
  const dot = side >= 8 ? Math.max(1, Math.round(side / 12)) : 0;
  for (let r = 0; r < rows; r++) {
    for (let c = 0; c < columns; c++) {
      const i = r * columns + c;
      const colour = small[i] as number;
      const value = values[i] as number;
      const known = seen === null || seen[i] !== 0;
      const squares = how.way === "heights" && value >= 0.5 && side >= 6;
      const part = squares ? 0.4 + 0.1 * Math.min(5, Math.max(1, Math.round(value))) : 1;
      const margin = Math.round((side * (1 - part)) / 2);
      const start = r * side * width + c * side;
      for (let y = 0; y < side; y++) {
        const line = start + y * width;
        if (margin) large.fill(floor, line, line + side);
        if (y >= margin && y < side - margin)
          large.fill(colour, line + margin, line + side - margin);
      }
      if (!known && dot && !isWall(value)) {
        const middle = Math.floor((side - dot) / 2);
        for (let y = middle; y < middle + dot; y++) {
          const line = start + y * width + middle;
          large.fill(darker(colour), line, line + dot);
        }
      }
    }
  }
  return out;
}

function packed([r, g, b]: Rgb): number {
  return (255 << 24) | (b << 16) | (g << 8) | r;
}

/** Return the colour of a dot: dark on light, light on dark. */
function darker(colour: number): number {
  const [r, g, b] = [colour & 255, (colour >> 8) & 255, (colour >> 16) & 255];
  return 0.3 * r + 0.6 * g + 0.1 * b > 110 ? packed([110, 116, 122]) : packed([225, 228, 231]);
}
