// The chosen terrain and the start on it, in map coordinates, which do not depend on the cell size.

import { signal } from "@preact/signals";
import { getBytes } from "../../api";
import { decode } from "../../frames";
import type { FrameArray, Where } from "../../frames";
import { minus } from "../../words";

export interface Ground {
  query: string; // what it was asked for by
  rows: number;
  columns: number;
  cell: NonNullable<Where["cell"]>;
  transform: NonNullable<Where["transform"]>;
  height: FrameArray;
  start: [number, number] | null; // row and column that the server chooses; null if it is not known yet
}

export type Point = [number, number]; // x and y in map coordinates

export const ground = signal<Ground | null>(null);
/** Where the start is; null where it is found by the server. */
export const place = signal<Point | null>(null);
/** Its row and column, as they stand in their fields. */
export const startRow = signal("");
export const startColumn = signal("");
/** What became of a start that is no longer on the ground. */
export const lost = signal("");

/** Ask for the ground. */
export async function groundOf(query: string, stop?: AbortSignal): Promise<Ground> {
  const frame = decode(await getBytes(`/api/v1/terrain/preview?${query}`, stop));
  const height = frame.arrays.get("height");
  const [rows, columns] = height?.shape ?? [];
  const { cell, transform, start = null } = frame;
  if (!height || !rows || !columns || !cell || !transform)
    throw new Error("The server sent a terrain without heights.");
  return { query, rows, columns, cell, transform, height, start };
}

/** Return the map coordinates of a column and a row, counted in cells from the first corner. */
export function toMap(on: Ground, column: number, row: number): Point {
  const [a, b, c, d, e, f] = on.transform;
  return [a * column + b * row + c, d * column + e * row + f];
}

/** Return column and row of a point in map coordinates. */
export function toGrid(on: Ground, [x, y]: Point): [number, number] {
  const [a, b, c, d, e, f] = on.transform;
  const area = a * e - b * d;
  return [(e * (x - c) - b * (y - f)) / area, (a * (y - f) - d * (x - c)) / area];
}

/** Return row and column of the cell at a point; null off the terrain. */
export function cellAt(on: Ground, point: Point): [number, number] | null {
  const [column, row] = toGrid(on, point).map((along) => Math.floor(along + 1e-9)) as Point;
  return row >= 0 && column >= 0 && row < on.rows && column < on.columns ? [row, column] : null;
}

/** Set a new terrain; the start keeps its map coordinates if they are on it. */
export function settle(next: Ground): void {
  ground.value = next;
  if (place.value) choose(place.value);
  else typed();
}

/** Set the start at a point of the map. */
export function choose(point: Point): void {
  const cell = ground.value && cellAt(ground.value, point);
  if (!cell) {
    const [x, y] = point.map((along) => minus(String(Math.round(10 * along) / 10)));
    forget(`The start, at x ${x} m and y ${y} m, is not on this terrain, so it is chosen for you.`);
    return;
  }
  place.value = point;
  [startRow.value, startColumn.value] = [String(cell[0]), String(cell[1])];
  lost.value = "";
}

/** Set the start in the middle of the cell that the fields name, once they name one. */
export function typed(): void {
  const on = ground.value;
  const at = [startRow.value, startColumn.value].map((text) => (text.trim() ? Number(text) : NaN));
  const point = on && at.every(Number.isInteger) ? toMap(on, at[1]! + 0.5, at[0]! + 0.5) : null;
  place.value = on && point && cellAt(on, point) ? point : null;
  if (place.value) lost.value = "";
}

/** Return an error if only one of the start's two fields is filled in. */
export function wrongStart(text: string): string {
  const both = [startRow.value, startColumn.value].every((each) => each.trim());
  const none = ![startRow.value, startColumn.value].some((each) => each.trim());
  return both || none || text.trim()
    ? ""
    : "Give both the row and the column of the start, or neither.";
}

/** Show no ground, and leave the start to the server, until the next terrain is read. */
export function leave(): void {
  ground.value = null;
  forget();
}

/** Leave the start to the server. */
export function forget(why = ""): void {
  place.value = null;
  startRow.value = startColumn.value = "";
  lost.value = why;
}
