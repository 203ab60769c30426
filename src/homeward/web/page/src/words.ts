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

/** Say what a safety level means. */
export function meaning(delta: number): string {
  if (delta >= 1)
    return "Whenever it is called off, there is a way home in every world that is possible.";
  const odds = ratio(1 - delta);
  return `In ${odds} worlds like this it may find no way home when it is called off; in the others it does.`;
}

/** Write a small probability as “1 of 50”. */
function ratio(part: number): string {
  if (part >= 0.4) return `${Math.round(part * 10)} of 10`;
  const whole = 1 / part;
  if (Math.abs(whole - Math.round(whole)) < 0.02 * whole) return `1 of ${Math.round(whole)}`;
  return `${Math.round(part * 100)} of 100`;
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
  return unit ? `${figure(value)} ${unit}` : figure(value);
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
