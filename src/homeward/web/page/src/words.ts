// Labels and sentences, and numbers as text.

import type { Action, Criterion, Details, Layer, Status, Summary } from "./api";

/** Format a probability or a bound; a value between 0 and 1 is never rounded to 0 or 1. */
export function chance(value: number, digits = 4): string {
  if (value >= 1) return "1";
  if (value <= 0) return "0";
  const shown = rounded(value, digits);
  const exact = Number(value.toFixed(digits));
  return `${shown < exact ? ">" : shown > exact ? "<" : ""}${shown.toFixed(digits)}`;
}

/** Round a probability; only 0 and 1 themselves become 0 and 1. */
function rounded(value: number, digits: number): number {
  if (value <= 0 || value >= 1) return value;
  const step = 10 ** -digits;
  const shown = Math.max(step, Math.min(1 - step, Number(value.toFixed(digits))));
  return Number(shown.toFixed(digits));
}

/** Format any number with at most `digits` significant digits. */
export function figure(value: number | null | undefined, digits = 4): string {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (value !== 0 && (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-4))
    return powerOfTen(value);
  return minus(String(Number(value.toPrecision(digits))));
}

/** Format a lower bound of any size with `digits` significant digits; it is never rounded up. */
export function least(value: number, digits = 4): string {
  const size = Math.abs(value) || 1;
  const shown = size >= 1e6 || size < 1e-4 ? 3 : digits; // as `figure` does
  const scale = 10 ** (shown - 1 - Math.floor(Math.log10(size)));
  return figure(Math.floor(value * scale + 1e-6) / scale, shown);
}

/** Format a number with three digits and a power of ten: 1.06 × 10⁹. */
function powerOfTen(value: number): string {
  const [digits = "", power = ""] = value.toExponential(2).split("e");
  const raised = [...power.replace("+", "")].map((sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]);
  return minus(`${Number(digits)}\u00a0×\u00a010${raised.join("")}`);
}

export function minus(text: string): string {
  return text.replace("-", "−");
}

/** The planner relies on no move that works less often, so the map does not offer it. */
export const MIN_SUCCESS = 1e-3;

const LEVEL_TOLERANCE = 1e-12; // for errors of the last binary digits
const MAX_DECIMALS = 6;

/** Format a safety level, which is never rounded up. */
export function levelName(level: number): string {
  return String(Math.min(level, Number(level.toFixed(MAX_DECIMALS))));
}

/** Return whether a bound meets a level. */
export function keeps(value: number, level: number, tolerance = LEVEL_TOLERANCE): boolean {
  return value >= level - tolerance * Math.max(1, Math.abs(level));
}

/** Cut a bound to some decimals; it is never rounded up, but for errors of the last binary digits. */
function cut(value: number, decimals: number): number {
  return Math.floor(value * 10 ** decimals + 1e-6) / 10 ** decimals;
}

/** Format a bound that is cut, and not rounded up; one below 1 that would look like 1 has a sign. */
function lowered(value: number, decimals: number): string {
  const nearly = value < 1 && Number(value.toFixed(decimals)) >= 1;
  return nearly || value * 10 ** decimals < 1 ? chance(value, decimals) : chance(cut(value, decimals), decimals);
}

/** Format a bound with enough decimals to distinguish it from its level.
 *
 * A bound below the level never looks equal to it, and a bound that meets the level never looks
 * lower.
 */
export function beside(value: number, level: number | null | undefined, digits = 4): string {
  if (level === null || level === undefined) return lowered(value, digits);
  const mark = Number(levelName(level));
  const kept = keeps(value, level);
  const sure = kept && mark >= 1;
  const held = sure ? (1 - value < 1e-12 ? 1 : value) : kept ? Math.max(value, mark) : Math.min(value, mark - 10 ** -MAX_DECIMALS);
  for (let decimals = digits; decimals < MAX_DECIMALS; decimals++) {
    if (kept ? cut(held, decimals) >= mark : rounded(held, decimals) < mark) return lowered(held, decimals);
  }
  return lowered(held, MAX_DECIMALS);
}

/** The place to return to. */
export type Home = "current" | "start" | "bases";

/** Explain a safety level of a whole run. */
export function meaning(delta: number): string {
  if (delta >= 1)
    return "Whenever the explorer is recalled, it can return home in every possible world. This holds for the whole run.";
  const least = `Whenever the explorer is recalled, it can return home with probability at least ${percent(delta)}`;
  return `${least}. This holds for the whole run: ${atMost(delta)}.`;
}

/** Explain a safety level that holds for each plan, as in the paper's algorithm. */
export function planMeaning(delta: number, home: Home): string {
  const here = "Home is the cell where the explorer makes the plan";
  if (delta >= 1) {
    const sure = "If the explorer is recalled, it can return home in every possible world.";
    return home === "current" ? `${sure} ${here}.` : sure;
  }
  const plan = `For each plan, after a recall: ${atMost(delta)}.`;
  return home === "current"
    ? `${plan} ${here}; nothing is guaranteed for the start.`
    : `${plan} The explorer makes a plan at every step, so the risks add up over many steps.`;
}

function percent(delta: number): string {
  return `${cut(100 * delta, 4)}\u00a0%`;
}

/** Explain the risk 1 − δ as a fraction of worlds, in the smallest whole numbers. */
function atMost(delta: number): string {
  const whole = 1_000_000;
  const some = Math.ceil(whole * (1 - delta) - 1e-6);
  let [a, b] = [whole, some];
  while (b) [a, b] = [b, a % b];
  return `in at most ${some / a} of ${whole / a} such worlds it can't return home`;
}

const STATUSES: Partial<Record<Status, string>> = {
  queued: "waiting",
  newer: "newer version",
  waiting: "mission",
};

/** Return the label of a status; a waiting run has a place in the queue. */
export function statusName({ status, place }: Summary): string {
  const name = STATUSES[status] ?? status;
  return status === "queued" && place !== null ? `${name}, place ${place}` : name;
}

/** Return how a run ended, or where it stands. */
export function endWord({ status, why, trapped }: Summary): string {
  if (status === "waiting") return "The mission waits for a report of what became of this move.";
  if (status !== "finished") return `The run is ${status} here.`;
  if (trapped !== null)
    return `The run ended here. The explorer was trapped at step ${trapped}: no way home was left from then on.`;
  return ["The run ended here.", why].filter(Boolean).join(" ");
}

const EXPLORERS: Record<string, string> = {
  uncover: "unsafe (uncover)",
  rmax: "unsafe (R-max)",
  "near-bayesian": "unsafe (near-Bayesian)",
};

export function explorerName(name: string | null): string {
  return name === null ? "" : (EXPLORERS[name] ?? name);
}

/** Return whether an explorer plans at a level δ. */
export function hasLevel({ explorer, delta }: Summary): boolean {
  return delta !== null && (explorer === "safe" || explorer === "naive");
}

/** Return the name of a setting as a label: `sensor_noise` is “Sensor noise”. */
export function labelOf(key: string): string {
  return key.charAt(0).toUpperCase() + key.slice(1).replaceAll("_", " ");
}

/** Return the kind and the size of a run's world; `brief` leaves out what the numbers count. */
export function worldOf(run: Summary, brief = false): string {
  const named = run.kind ?? "";
  const kind = { grid: "grid world", rover: "terrain", toytext: "toy text" }[named] ?? named;
  if (!run.shape) return kind;
  const [rows, columns] = run.shape;
  return `${kind}, ${columns}\u00a0${brief ? "" : "columns\u00a0"}×\u00a0${rows}${brief ? "" : "\u00a0rows"}`;
}

const LAYERS: Record<string, string> = {
  height: "Ground",
  uncertainty: "Unknown",
  v: "Safe region",
  slope: "Slope",
  bonus: "Bonus",
  success: "Success",
  seen: "Seen",
  visited: "Visited",
  truth: "Truth",
  model: "Terrain model",
  kept: "Set",
};

/** Return a short name of a layer. */
export function layerName(layer: { name: string; title: string }): string {
  return LAYERS[layer.name] ?? layer.title;
}

/** Return whether safety levels hold for the whole run, not for single plans. */
export function isOfRun(details: Details): boolean {
  return details.config["algorithm"] === "rate";
}

const HOMES = { current: "the current state", start: "the start", bases: "one of the bases" };

/** Return what a criterion asks for. */
export function criterionName({ kind, home, within }: Criterion): string {
  if (kind !== "return") return kind === "stay" ? "stay inside the set" : "earn enough";
  const limit = within === null ? "" : ` within ${within} steps`;
  return `return to ${HOMES[home ?? "start"]}${limit}`;
}

/** Return a cell's row and column, counted from 0. */
export function cellName(cell: number, columns: number): string {
  return `row ${Math.floor(cell / columns)}, column ${cell % columns}`;
}

/** Return from where a run is called off: from the cell `meant`, or from the one after the next move. */
export function calledFrom(cell: number, meant: number | null, columns: number): string {
  return `${cell === meant ? "" : "after the next move, "}from ${cellName(cell, columns)}`;
}

/** Format a layer's value with its unit. */
export function reading(details: Details, name: string, value: number): string {
  const layer = details.layers.find((each) => each.name === name);
  if (Number.isNaN(value)) return layer?.scale === "categorical" ? "not yet seen" : "–";
  if (layer?.scale === "categorical") {
    const named = layer.categories?.find?.((category) => category.value === value);
    if (named) return named.title;
    if (name === "height" || name === "truth") return value < 0 ? "wall" : figure(value);
    return value ? "yes" : "no";
  }
  if (layer?.scale === "probability") return chance(value);
  const unit = layer?.unit ?? "";
  if (unit === "m") return `${minus(value.toFixed(Math.abs(value) < 10 ? 3 : 2))} m`;
  if (unit === "°") return `${value.toFixed(1)}°`;
  return `${figure(value)} ${value === 1 ? (SINGULAR[unit] ?? unit) : unit}`.trim();
}

/** Return whether slopes are limited under the wheels, on the pixels of a terrain model. */
export function isDriven({ layers }: Details): boolean {
  return layers.some(({ name }) => name === "model");
}

/** Return what to know about heights and slopes on driven ground; [] on other ground. */
export function groundNotes(details: Details): string[] {
  if (!isDriven(details)) return [];
  const { config, status, layers } = details;
  const spread = layers.find(({ name }) => name === "slope")?.deviation;
  const known = spread ? `, known to about ±${figure(spread, 2)}° since neighbouring heights err alike` : "";
  const [up, down, aside] = ["climb", "descend", "roll"].map((key) => figure(config[key] as number));
  const error = status === "waiting" ? "" : ", with the simulated error of the terrain model";
  return [
    `Ground: as measured${error}. Exported points and ways home have the terrain model's heights.`,
    `Slope: of the terrain model where the vehicle stands, which may be beside the cell's centre, over its wheelbase${known}. The limits, ${up}° up, ${down}° down and ${aside}° to the side, hold under the wheels on the whole way that is driven; measured heights tell how far the model is off.`,
  ];
}

/** Return what may block cells of a run's terrain; which of it blocks a cell is not recorded. */
function blockers({ kind, config }: Details): string[] {
  if (kind !== "rover") return kind === "grid" ? ["a wall"] : [];
  const synthetic = (config["terrain"] ?? "mars") === "mars";
  const driven = (config["ground"] ?? (synthetic ? "paper" : "driven")) === "driven";
  return [
    ...(synthetic ? [] : ["no data"]),
    ...(config["obstacles"] ? ["an obstacle"] : []),
    ...(config["keep_out"] ? ["the area to keep out of"] : []),
    ...(driven ? ["the vehicle can't stand or turn here"] : []),
  ];
}

/** Return whether a run may have blocked cells. */
export function mayBlock(details: Details): boolean {
  return blockers(details).length > 0;
}

/** Return why a cell with these values is blocked, or may be; "" if it is open. */
export function blockedWord(details: Details, values: Record<string, number>): string {
  const open = ({ name, scale }: Layer): boolean =>
    scale === "categorical" || name === "slope" || !Number.isNaN(values[name] ?? 0);
  if (details.layers.every(open)) return "";
  const [first, ...rest] = blockers(details).reverse();
  if (first === undefined) return "Blocked.";
  return `Blocked: ${rest.length ? `${rest.reverse().join(", ")} or ` : ""}${first}.`;
}

const SINGULAR: Record<string, string> = { nats: "nat", squares: "square", steps: "step" };

/** Return the compass direction of an action. */
export function compass({ name, dr, dc }: Action): string {
  if (dr == null || dc == null) return name;
  return `${["N", "", "S"][dr + 1]}${["W", "", "E"][dc + 1]}` || "stay";
}

/** Return the age of a time as text. */
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

/** Return a proven probability in hundredths, never rounded up. */
export function hundredths(probability: number): number {
  return Math.floor(100 * probability + 1e-9);
}

/** Return by how much a number of successes usually differs from its mean: two standard deviations. */
export function scatter(probability: number, draws: number): number {
  return Math.round(2 * Math.sqrt(probability * (1 - probability) * draws));
}

/** Return around which number most draws of a hundred scatter, in a sentence. */
export function scatterWord(probability: number): string {
  const within = scatter(probability, 100);
  const mean = Math.round(100 * probability);
  return within ? ` Most draws of 100 worlds are within ${within} of ${mean}.` : "";
}
