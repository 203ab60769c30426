// What is drawn: a small grid of heights and walls with a start, and what was drawn before.

import { computed, signal } from "@preact/signals";

export type Tool = "1" | "2" | "3" | "4" | "5" | "#" | "start";

export interface Drawing {
  rows: string[]; // "1" to "5" and "#"
  start: [number, number];
}

/** All that is kept of a drawing; `cut` is set once it has been resized. */
interface Sheet {
  drawing: Drawing;
  cut: { whole: Drawing; shown: Drawing } | null; // what there was, and what the edges left of it
  story: string;
}

export const FIRST: Drawing = {
  rows: ["33333333", "33333333", "33311133", "33311133", "33311133", "33333333"],
  start: [2, 1],
};
export const LARGEST = 16; // rows and columns that a field gives; a text may have more
const LONGEST = 40;
const STEPS = 200; // that can be taken back

const sheet = signal<Sheet>({ drawing: FIRST, cut: null, story: "" });
const past = signal<{ sheet: Sheet; what: string }[]>([]);

export const drawing = computed(() => sheet.value.drawing);
export const story = computed(() => sheet.value.story);
/** What would be taken back; null where there is nothing. */
export const last = computed(() => past.value[past.value.length - 1]?.what ?? null);

/** The number of rows and of columns as they are being typed. */
export const high = signal("6");
export const wide = signal("8");
/** The text of the map while it differs from what is drawn, else null. */
export const draft = signal<string | null>(null);

/** Return whether text is being edited, where Ctrl+Z belongs to the text field. */
export function isTyping(): boolean {
  const { rows } = drawing.value;
  const same = high.value === String(rows.length) && wide.value === String(widthOf(rows));
  return draft.value !== null || !same;
}

function widthOf(rows: string[]): number {
  return rows[0]?.length ?? 0;
}

function show(next: Sheet): void {
  sheet.value = next;
  high.value = String(next.drawing.rows.length);
  wide.value = String(widthOf(next.drawing.rows));
  draft.value = null;
}

function turnTo(next: Sheet, what: string): void {
  past.value = [...past.value.slice(1 - STEPS), { sheet: sheet.value, what }];
  show(next);
}

/** Undo the last change; return its name, null if there is none. */
export function undo(): string | null {
  const before = past.value[past.value.length - 1];
  if (!before) return null;
  past.value = past.value.slice(0, -1);
  show(before.sheet);
  return before.what;
}

/** Write a drawing as the text of a map: a letter a to e is the start on height 1 to 5. */
export function toText({ rows, start }: Drawing): string {
  return rows
    .map((line, r) =>
      [...line]
        .map((square, c) =>
          r === start[0] && c === start[1] ? ("abcde"[Number(square) - 1] ?? square) : square,
        )
        .join(""),
    )
    .join("\n");
}

/** Parse the text of a map; return an error as a sentence. */
export function fromText(text: string): Drawing | string {
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  const width = widthOf(lines);
  const starts: [number, number][] = [];
  for (const [r, line] of lines.entries()) {
    const strange = [...line].find((square) => !/[1-5a-e#]/.test(square));
    if (strange) return `Line ${r + 1} of the map has “${strange}”: use 1 to 5, # and a to e.`;
    if (line.length !== width)
      return `Line ${r + 1} of the map is ${line.length} long and line 1 is ${width}: make them the same.`;
    for (const found of line.matchAll(/[a-e]/g)) starts.push([r, found.index]);
  }
  if (lines.length > LONGEST || width > LONGEST)
    return `The map has ${lines.length} rows and ${width} columns: at most ${LONGEST} of each are allowed.`;
  const [start, second] = starts;
  if (!start)
    return "The map has no start: write one height as a letter, a to e in the place of 1 to 5.";
  if (second)
    return `The map has ${starts.length} starts, the second in line ${second[0] + 1}: leave one letter a to e.`;
  const plain = (letter: string): string => String("abcde".indexOf(letter) + 1);
  return { rows: lines.map((line) => line.replace(/[a-e]/g, plain)), start };
}

/** Load another world; what was cut off the one before goes with it. */
export function load(next: Drawing, said: string, what = "loading a world"): void {
  turnTo({ drawing: next, cut: null, story: said }, what);
}

/** Return the drawing with one square painted; the start is never on a wall. */
function painted(from: Drawing, row: number, column: number, what: Tool): Drawing {
  const { rows, start } = from;
  const square = rows[row]?.[column];
  const isStart = row === start[0] && column === start[1];
  if (square === undefined || (what === "#" && isStart)) return from;
  const next = what !== "start" ? what : square === "#" ? "1" : square;
  if (next === square && (what !== "start" || isStart)) return from;
  return { rows: put(rows, row, column, next), start: what === "start" ? [row, column] : start };
}

function put(rows: string[], row: number, column: number, square: string): string[] {
  return rows.map((line, r) =>
    r === row ? line.slice(0, column) + square + line.slice(column + 1) : line,
  );
}

/** Paint a square; `more` of the same stroke is taken back with it. Tell whether anything changed. */
export function paint(row: number, column: number, what: Tool, more = false): boolean {
  const next = painted(drawing.value, row, column, what);
  if (next === drawing.value) return false;
  if (more) show({ ...sheet.value, drawing: next });
  else turnTo({ ...sheet.value, drawing: next }, "painting");
  return true;
}

/** Cut or enlarge the drawing to the rows and columns that were typed; growing brings back. */
export function resize(): void {
  const { drawing: now, cut } = sheet.value;
  const [r, c] = [clamped(high.value, now.rows.length), clamped(wide.value, widthOf(now.rows))];
  if (r === now.rows.length && c === widthOf(now.rows)) {
    show(sheet.value); // what was typed may be another number
    return;
  }
  const whole = cut ? joined(cut.whole, cut.shown, now) : now;
  const shown = cutTo(whole, r, c);
  turnTo({ ...sheet.value, drawing: shown, cut: { whole, shown } }, "resizing");
}

function clamped(text: string, present: number): number {
  const asked = Math.round(Number(text));
  if (!text.trim() || !Number.isFinite(asked) || asked === present) return present;
  return Math.max(2, Math.min(LARGEST, asked));
}

/** Return the uncut drawing with all that was painted since the cut. */
function joined(whole: Drawing, shown: Drawing, now: Drawing): Drawing {
  const [r, c] = [
    Math.max(whole.rows.length, now.rows.length),
    Math.max(widthOf(whole.rows), widthOf(now.rows)),
  ];
  const square = (i: number, j: number): string => {
    const [before, left, is] = [whole, shown, now].map(({ rows }) => rows[i]?.[j]);
    return (is === left ? before : is) ?? is ?? "2";
  };
  const stayed = String(now.start) === String(shown.start);
  return {
    rows: Array.from({ length: r }, (_, i) =>
      Array.from({ length: c }, (__, j) => square(i, j)).join(""),
    ),
    start: stayed ? whole.start : now.start,
  };
}

function cutTo({ rows, start }: Drawing, r: number, c: number): Drawing {
  const left = Array.from({ length: r }, (_, i) => (rows[i] ?? "").slice(0, c).padEnd(c, "2"));
  const at: [number, number] = [Math.min(r - 1, start[0]), Math.min(c - 1, start[1])];
  return painted({ rows: left, start: [-1, -1] }, ...at, "start");
}

/** Draw heights and walls at random, the start in the middle. */
export function scatter(): void {
  const { rows } = drawing.value;
  const pick = (): string =>
    Math.random() < 0.12 ? "#" : String(1 + Math.floor(Math.random() * 5));
  const next = rows.map((line) => [...line].map(pick).join(""));
  const middle = [Math.floor(rows.length / 2), Math.floor(widthOf(rows) / 2)] as const;
  load(painted({ rows: next, start: [-1, -1] }, ...middle, "start"), "");
}
