// Colours of the layers. All scales are ordered in lightness, so that they can be read without
// distinguishing hues. Ways home are green, so that they stand out from the ground.

export type Rgb = readonly [number, number, number];

const PALETTES = {
  viridis: "440154 482475 414487 355f8d 2a788e 21918c 22a884 44bf70 7ad151 bddf26 fde725",
  cividis: "00224e 123570 3b496c 575d6d 707173 8a8678 a59c74 c3b369 e1cc55 fee838",
  ground: "5a2410 94431b c46c2e e09a52 f7cf8f",
  greys: "6d7074 96999d b9bcbf d6d8da",
  slates: "343c44 4b555e 636e77 7d8891",
};
export type Palette = keyof typeof PALETTES;

/** Colours around what is known, on light and on dark pages. */
export interface Surroundings {
  unseen: Rgb;
  floor: Rgb; // around a square
  wall: Rgb;
  line: string; // of the grid
  greys: Palette; // heights that are not seen
}

const LIGHT: Surroundings = {
  unseen: [207, 210, 213],
  floor: [247, 247, 245],
  wall: [58, 63, 68],
  line: "rgba(255,255,255,0.8)",
  greys: "greys",
};
const DARK: Surroundings = {
  unseen: [54, 62, 69],
  floor: [30, 37, 43],
  wall: [8, 11, 14],
  line: "rgba(10,15,19,0.75)",
  greys: "slates",
};

export function surroundings(dark: boolean): Surroundings {
  return dark ? DARK : LIGHT;
}

/** Heights 1 to 5 of a grid, ordered in lightness like the heights of terrain. */
export const HEIGHTS: readonly Rgb[] = "6b2f14 a1511f cc7f3c e6ae6c f6dcb0".split(" ").map(hex);

/** Colours of the values 0 and 1. */
export const NO: Rgb = [120, 126, 132];
export const YES: Rgb = hex("e8c33a");

/** Colours of the marks on the map. */
export const MARK_COLOURS = { ink: "#12283d", here: "#0f6cb4", way: "#00806b", lost: "#c3241a", reached: "#ffdc00" };

/** The house of a home, about the origin, within a circle of radius 10. */
export const HOUSE = "M-5.5 .4 0-5 5.5 .4M-3.6-.6V5H3.6V-.6";

/** The star of a target, within the same circle. */
export const STAR = "M0-10 2.6-3.6 9.5-3.1 4.2 1.4 5.9 8.1 0 4.4-5.9 8.1-4.2 1.4-9.5-3.1-2.6-3.6Z";

function hex(text: string): Rgb {
  const n = parseInt(text, 16);
  return [(n >> 16) & 255, (n >> 8) & 255, n & 255];
}

/** Return a table of 256 colours, as bytes r, g, b. */
export function table(palette: Palette): Uint8Array {
  const stops = PALETTES[palette].split(" ").map(hex);
  const out = new Uint8Array(256 * 3);
  for (let i = 0; i < 256; i++) {
    const at = (i / 255) * (stops.length - 1);
    const low = Math.min(stops.length - 2, Math.floor(at));
    const part = at - low;
    const [a, b] = [stops[low] as Rgb, stops[low + 1] as Rgb];
    for (let c = 0; c < 3; c++)
      out[i * 3 + c] = Math.round((a[c] as number) * (1 - part) + (b[c] as number) * part);
  }
  return out;
}

/** Return the colour in the middle of a palette. */
export function middleOf(palette: Palette): Rgb {
  const [r, g, b] = table(palette).subarray(3 * 128);
  return [r ?? 0, g ?? 0, b ?? 0];
}

export function css([r, g, b]: Rgb): string {
  return `rgb(${r},${g},${b})`;
}

/** Return a palette as a CSS gradient's list of colours. */
export function gradient(palette: Palette): string {
  return PALETTES[palette]
    .split(" ")
    .map((stop) => `#${stop}`)
    .join(", ");
}
