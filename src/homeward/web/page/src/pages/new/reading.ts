// Parsers of the form's text fields; an error is returned as a sentence.

/** Parse a number; null if the text is empty. */
export function number(text: string): number | null {
  return text.trim() === "" ? null : Number(text);
}

/** Parse pairs of numbers, separated by `between`; return the first piece that is not a pair. */
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

/** Parse cells as row,column; return an error as a sentence. */
export function cells(text: string): number[][] | string {
  const tidy = text.trim().replace(/\s*([,:])\s*/g, "$1");
  const found = pairs(tidy, /[;\s]+/);
  if (typeof found !== "string" && found.every(isPlace)) {
    return found.length ? found : "Give the bases as row,column: 3,4 is row 3, column 4.";
  }
  const culprit = typeof found === "string" ? found : found.find((pair) => !isPlace(pair));
  return `“${String(culprit)}” is not a base: give each as row,column, counted from 0, like 3,4 7,0.`;
}

/** Parse the first and the last row (or column) to stay inside; null if the text is empty. */
export function span(text: string): number[] | string | null {
  if (!text.trim()) return null;
  const found = pairs(text, /;/);
  const [only, second] = typeof found === "string" ? [] : found;
  if (!only || second || !isPlace(only))
    return `“${text.trim()}” is not a range: give the first and the last, counted from 0, like 0:7.`;
  const [first, last] = only as [number, number];
  return first <= last ? only : `The first, ${first}, is after the last, ${last}.`;
}

/** Parse polygons, one per line, as open rings; return an error as a sentence. */
export function polygons(text: string): number[][][] | string {
  const rings: number[][][] = [];
  for (const [place, line] of text.split("\n").entries()) {
    if (!line.trim()) continue;
    const tidy = line.trim().replace(/\s*,\s*/g, ",");
    const ring = pairs(tidy, /[\s;]+/);
    if (typeof ring === "string")
      return `“${ring}” in line ${place + 1} is not a corner: give each as x,y in m, like 0,0 400,0 400,300.`;
    if (ring.length > 1 && String(ring[0]) === String(ring[ring.length - 1])) ring.pop();
    if (ring.length < 3)
      return `The polygon in line ${place + 1} has ${ring.length} ${ring.length === 1 ? "corner" : "corners"}: give three or more.`;
    rings.push(ring);
  }
  return rings;
}

/** Parse targets, one per line, as x,y or x,y,weight; return an error as a sentence. */
export function targets(text: string): number[][] | string {
  const found: number[][] = [];
  for (const line of text.split("\n").filter((each) => each.trim())) {
    const parts = line.split(",").map((part) => (part.trim() ? Number(part) : NaN));
    const [x = NaN, y = NaN, weight = 1] = parts;
    if (parts.length > 3 || ![x, y, weight].every(Number.isFinite) || weight <= 0)
      return `“${line.trim()}” is not a target: give x,y in m, or x,y,weight with a weight above 0, like 120,80,2.`;
    found.push([x, y, weight]);
  }
  return found;
}

/** Return the error of a parser, "" if there is none. */
export function complaint(read: unknown): string {
  return typeof read === "string" ? read : "";
}

/** Return the error of a probability, "" if it is valid. */
export function wrongChance(text: string): string {
  const value = number(text);
  return value === null || (value > 0 && value <= 1) ? "" : "Give a probability above 0 and at most 1.";
}

/** Return the error of a part of a terrain, "" if it is valid. */
export function wrongPart(text: string): string {
  const tidy = text.trim();
  if (!tidy || /^map:/.test(tidy) || /^\d+(\s*,\s*\d+){3}$/.test(tidy)) return "";
  return "Give the part as column,row,width,height in whole pixels, like 0,0,300,200.";
}

const MAX_NAME_LENGTH = 90; // leaves room for the suffix of a pair

/** Return a valid name of a run: letters without accents, “-” for other characters. */
export function nameOf(text: string): string {
  return text
    .normalize("NFKD")
    .replace(/\p{M}/gu, "")
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[.-]+|-+$/g, "")
    .slice(0, MAX_NAME_LENGTH);
}
