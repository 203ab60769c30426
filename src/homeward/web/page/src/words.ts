// Numbers and states of things, in words.

import type { Action, Details, Status, Summary } from "./api";

/** Write a probability or a bound: four decimals, and never rounded to 0 or to 1. */
export function chance(value: number, digits = 4): string {
  if (value >= 1) return "1";
  if (value <= 0) return "0";
  const text = value.toFixed(digits);
  if (Number(text) <= 0) return `<${(10 ** -digits).toFixed(digits)}`;
  return Number(text) >= 1 ? `>${(1 - 10 ** -digits).toFixed(digits)}` : text;
}

/** Write any number in four figures or fewer. */
export function figure(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value !== 0 && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-4))
    return minus(readable(value.toExponential(2)));
  return minus(String(Number(value.toPrecision(digits))));
}

const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** Write the powers of ten in a text as such: 1.05838e+09 is 1.058 × 10⁹. */
export function readable(text: string): string {
  return text.replace(/(\d+(?:\.\d+)?)e([+-])(\d+)/g, (_, digits: string, sign: string, power) => {
    const raised = [...String(Number(power))].map((digit) => RAISED[Number(digit)]).join("");
    const number = String(Number(Number(digits).toPrecision(4)));
    return `${number}\u00a0×\u00a010${sign === "-" ? "⁻" : ""}${raised}`;
  });
}

export function minus(text: string): string {
  return text.replace("-", "−");
}

const NEAR = 1e-8; // how far below a level the planner still counts as keeping it
const FINEST = 6; // decimals

/** Write a safety level. */
export function levelName(level: number): string {
  return String(Number(level.toFixed(FINEST)));
}

/** Tell whether a level is kept, as the planner counts it. */
export function keeps(value: number, level: number): boolean {
  return value >= level - NEAR;
}

/** Write a proven chance beside its level, in as many decimals as it takes to tell the two apart.
 *
 * What is below the level is never written as the level, and what keeps it never as less.
 */
export function beside(value: number, level: number | null | undefined, digits = 4): string {
  if (level === null || level === undefined) return chance(value, digits);
  const mark = Number(levelName(level));
  const kept = keeps(value, level);
  const held = kept ? Math.max(value, mark) : Math.min(value, mark - 10 ** -FINEST);
  for (let decimals = digits; decimals < FINEST; decimals++) {
    const text = chance(held, decimals);
    const said = Number(text.replace(/[<>]/, ""));
    if (kept ? said >= mark : said < mark) return text;
  }
  return chance(held, FINEST);
}

/** Where the way home leads, as it is set up. */
export type HomeWord = "current" | "start" | "bases";

/** Say what a safety level promises of a whole run. */
export function meaning(delta: number): string {
  if (delta >= 1)
    return "Whenever it is called off, it comes home, over the whole run, in every world that is possible.";
  const least = `Whenever it is called off, it comes home with at least ${chanceName(delta)}, over the whole run`;
  return `${least}: ${atMost(delta)}.`;
}

/** Say what a safety level promises of each plan of the paper's algorithm, and what not of a run. */
export function planMeaning(delta: number, home: HomeWord): string {
  const here = "Home is where it stood when it planned";
  if (delta >= 1) {
    const sure = "In every world that is possible it finds a way home if it is called off.";
    return home === "current" ? `${sure} ${here}.` : sure;
  }
  const plan = `Each plan by itself: ${atMost(delta)}, if it is called off.`;
  return home === "current"
    ? `${plan} ${here}: nothing is promised of the start.`
    : `${plan} It plans at every step, and over many steps such risks add up.`;
}

/** Write a level as a percentage. */
function chanceName(delta: number): string {
  return `${Number((100 * delta).toFixed(4))}\u00a0%`;
}

/** Say in how many worlds there may be no way home, in the smallest whole numbers. */
function atMost(delta: number): string {
  const whole = 1_000_000;
  const some = Math.ceil(whole * (1 - delta) - 1e-6);
  let [a, b] = [whole, some];
  while (b) [a, b] = [b, a % b];
  return `of ${whole / a} worlds like this, in at most ${some / a} it finds no way home`;
}

export const STATUS: Record<Status, string> = {
  running: "running",
  queued: "waiting",
  paused: "paused",
  cancelled: "cancelled",
  interrupted: "interrupted",
  failed: "failed",
  finished: "finished",
  damaged: "damaged",
  newer: "newer version",
};

const EXPLORERS: Record<string, string> = {
  safe: "safe",
  unsafe: "unsafe",
  naive: "naive",
  uncover: "unsafe (uncover)",
  rmax: "unsafe (R-max)",
  "near-bayesian": "unsafe (near-Bayesian)",
};

export function explorerName(name: string | null): string {
  return name === null ? "" : (EXPLORERS[name] ?? name);
}

export function titleOf(run: Summary): string {
  return run.title || run.id;
}

/** Say what kind of world a run is in. */
export function worldOf(run: Summary): string {
  const named = run.kind ?? "";
  const kind = { grid: "grid world", rover: "terrain", toytext: "toy text" }[named] ?? named;
  return run.shape ? `${kind}, ${run.shape[0]}\u00a0×\u00a0${run.shape[1]}` : kind;
}

const LAYERS: Record<string, string> = {
  height: "Height",
  uncertainty: "Uncertainty",
  v: "Way home",
  bonus: "Bonus",
  success: "Success",
  seen: "Seen",
  visited: "Visited",
  truth: "Truth",
  kept: "Set",
};

/** Name a layer in a word or two; its title says more. */
export function layerName(layer: { name: string; title: string }): string {
  return LAYERS[layer.name] ?? layer.title;
}

/** Tell whether levels are those of the whole run, not of single plans. */
export function isOfRun(details: Details): boolean {
  return details.config["algorithm"] === "rate";
}

/** Name a cell by row and column, counted from 0. */
export function cellName(cell: number, columns: number): string {
  return `row ${Math.floor(cell / columns)}, column ${cell % columns}`;
}

/** Write a layer's value with its unit. */
export function reading(details: Details, name: string, value: number): string {
  const layer = details.layers.find((each) => each.name === name);
  if (Number.isNaN(value)) return layer?.scale === "categorical" ? "not yet seen" : "no data";
  if (layer?.scale === "categorical") {
    const named = layer.categories?.find?.((category) => category.value === value);
    if (named) return named.title;
    if (name === "height" || name === "truth") return value < 0 ? "wall" : figure(value);
    return value ? "yes" : "no";
  }
  if (layer?.scale === "probability") return chance(value);
  const unit = layer?.unit ?? "";
  const said = figure(value);
  if (!unit) return said;
  return `${said} ${said === "1" ? unit.replace(/s$/, "") : unit}`;
}

const SHORT: Record<string, string> = {
  north: "N",
  south: "S",
  east: "E",
  west: "W",
  "north-east": "NE",
  "north-west": "NW",
  "south-east": "SE",
  "south-west": "SW",
};

export function compass(action: Action): string {
  return SHORT[action.name.toLowerCase()] ?? action.name;
}

/** Say how long ago something was. */
export function ago(time: string | null): string {
  if (!time) return "";
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  if (!(seconds >= 0)) return "";
  if (seconds < 90) return "just now";
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 130_000) return `${Math.round(seconds / 3600)} h ago`;
  return new Date(time).toLocaleDateString(undefined, {
    day: "numeric",
    month: "short",
    year: "numeric",
  });
}
