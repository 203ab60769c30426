// What is typed into the form, read as numbers; sentences for what can't be.

/** Read a number; null where there is none. */
export function number(text: string): number | null {
  return text.trim() === "" ? null : Number(text);
}

/** Read pairs of numbers, parted by `between`; give the first piece that is none as it stands. */
function pairs(text: string, between: RegExp): number[][] | string {
  const found: number[][] = [];
  for (const piece of text.split(between).filter((each) => each.trim())) {
    const pair = piece.split(/[,:–]/).map((part) => (part.trim() ? Number(part) : NaN));
    if (pair.length !== 2 || !pair.every(Number.isFinite)) return piece.trim();
    found.push(pair);
  }
  return found;
}

function isPlace(pair: number[]): boolean {
  return pair.every((each) => Number.isInteger(each) && each >= 0);
}

/** Read cells as row,column; a sentence says what is wrong. */
export function cells(text: string): number[][] | string {
  const tidy = text.trim().replace(/\s*([,:])\s*/g, "$1");
  const found = pairs(tidy, /[;\s]+/);
  if (typeof found !== "string" && found.every(isPlace)) {
    return found.length ? found : "Say where the bases are, as row,column: 3,4 is row 3, column 4.";
  }
  const culprit = typeof found === "string" ? found : found.find((pair) => !isPlace(pair));
  return `“${String(culprit)}” is no base: give each as row,column in whole numbers from 0, as 3,4 7,0.`;
}

/** Read the first and the last row (or column) to stay inside; null for all of them. */
export function span(text: string): number[] | string | null {
  if (!text.trim()) return null;
  const found = pairs(text, /;/);
  const [only, second] = typeof found === "string" ? [] : found;
  if (!only || second || !isPlace(only))
    return `“${text.trim()}” is no stretch: give the first and the last, counted from 0, as 0:7.`;
  const [first, last] = only as [number, number];
  return first <= last ? only : `The first, ${first}, is after the last, ${last}.`;
}

/** Read polygons, one a line, as rings that are not closed; a sentence says what is wrong. */
export function polygons(text: string): number[][][] | string {
  const rings: number[][][] = [];
  for (const [place, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    const tidy = line.trim().replace(/\s*,\s*/g, ",");
    const ring = pairs(tidy, /[\s;]+/);
    if (typeof ring === "string")
      return `“${ring}” in line ${place + 1} is no corner: give each as x,y in m, as 0,0 400,0 400,300.`;
    if (ring.length > 1 && String(ring[0]) === String(ring[ring.length - 1])) ring.pop();
    if (ring.length < 3)
      return `The polygon in line ${place + 1} has ${ring.length} ${ring.length === 1 ? "corner" : "corners"}: give three or more.`;
    rings.push(ring);
  }
  return rings;
}

/** Give the sentence, if what was read is one. */
export function complaint(read: unknown): string {
  return typeof read === "string" ? read : "";
}

/** Say what is wrong with a chance, if anything is. */
export function wrongChance(text: string): string {
  const value = number(text);
  return value === null || (value > 0 && value <= 1) ? "" : "Give a chance above 0 and at most 1.";
}

/** Say what is wrong with the part of a terrain, if anything is. */
export function wrongPart(text: string): string {
  const tidy = text.trim();
  if (!tidy || /^map:/.test(tidy) || /^\d+(\s*,\s*\d+){3}$/.test(tidy)) return "";
  return "Give the part as column,row,width,height in whole pixels, as 0,0,300,200.";
}

const LONGEST = 90; // letters of a name, so that there is room for which of two runs it is

/** Give the name that a run can have: letters without their marks, and what is none becomes “-”. */
export function nameOf(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[.-]+|-+$/g, "")
    .slice(0, LONGEST);
}
