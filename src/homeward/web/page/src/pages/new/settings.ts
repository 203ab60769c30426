// The settings of a new run as the form holds them, and as a configuration's keys.

import { computed, effect, signal, untracked } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { Defaults, Upload, UploadedArea } from "../../api";
import type { Home } from "../../words";
import { cells, number, polygons, span, targets } from "./reading";
import { limits as accepted, defaultOf, othersGiven, defaultsOf } from "../../run/schema";

export type Kind = "grid" | "rover";
export type Closed = Upload | UploadedArea;
export type Source = "mars" | "sample" | "upload";

export const kind = signal<Kind>("grid");
export const name = signal("");
const levelTyped = signal<number | null>(null);

/** The safety level: until it is set, that of the command line. */
export const level = {
  get value(): number {
    return this.given ?? 0.98;
  },
  /** What to send; null, which is the server's default, before that is known. */
  get given(): number | null {
    const proposal = kind.value === "rover" ? proposed()?.delta : undefined;
    return levelTyped.value ?? proposal ?? (defaultOf(kind.value, "delta") as number | undefined) ?? null;
  },
  set value(typed: number) {
    levelTyped.value = typed;
  },
};

export const explorer = signal("safe");
export const algorithm = signal<"rate" | "paper">("rate");
export const floor = signal("");
export const home = signal<Home>("start");
export const bases = signal("");
export const each = signal(false);
export const within = signal("");
export const withinLevel = signal("");
export const insideRows = signal("");
export const insideColumns = signal("");
export const inside = signal("");
export const insideLevel = signal("");
export const recall = signal("");
export const distance = signal("");
export const energy = signal("");
export const places = signal("");
export const seed = signal("0");
export const limit = signal("");

export const size = signal("12");
export const walls = signal("0.2");

export const source = signal<Source>("mars");
export const file = signal<Upload | null>(null);
/** What is closed on the terrain: uploaded polygons, or a mask on its pixels. */
export const obstacles = signal<Closed | null>(null);
export const keepOut = signal<Closed | null>(null);
export const landSeed = signal("0");
export const rows = signal("1000");
export const columns = signal("2000");
export const cell = signal("");
export const part = signal("");
export const climb = signal("5");
export const descend = signal("45");
export const roll = signal("20");
export const range = signal("");
export const truth = signal<"model" | "prior">("model");

/** Whether slopes are limited under the wheels: on real terrain, not on the paper's. */
export const isDriven = computed(() => source.value !== "mars");

/** Return what the server proposes for the chosen terrain; null before it is known, and for a part of it. */
function proposed(): Defaults | null {
  if (source.value !== "mars" && part.value.trim()) return null;
  if (source.value === "upload") return file.value?.defaults ?? null;
  return defaultsOf("rover")?.[source.value] ?? null;
}

function textOf(value: number | null | undefined): string {
  return value === null || value === undefined ? "" : String(value);
}

let suitedRange = "";

/** Set the range of the sensor, unless it was changed. */
function suitRange(next: string): void {
  if (range.value === suitedRange) range.value = next;
  suitedRange = next;
}

/** Set the cells and the sensor that are proposed for a new file. */
export function suitFile(): void {
  delete cellsTyped.upload;
  suitTerrain();
}

/** Leave the range of the sensor to the server after a cell size was typed, unless it was typed too. */
export function suitTypedCell(): void {
  cellsTyped[source.value] = cell.value;
  suitRange("");
}

/** Maximum climb and descent of a real vehicle, for real terrain, and of the paper's, for synthetic Mars. */
const limitsOf: Record<"real" | "paper", [string, string]> = { real: ["20", "30"], paper: ["5", "45"] };
let shown: keyof typeof limitsOf = "paper";
const cellsTyped: Partial<Record<Source, string>> = {};

/** Set what is proposed for the terrain, and the limits of its vehicle; what was typed stays with its terrain. */
export function suitTerrain(): void {
  const typed = cellsTyped[source.value];
  const proposal = typed === undefined ? proposed() : null;
  adjust(() => {
    cell.value = typed ?? textOf(proposal?.cell);
    suitRange(textOf(proposal?.sensor_range));
    const vehicle = isDriven.value ? "real" : "paper";
    if (vehicle !== shown) {
      limitsOf[shown] = [climb.value, descend.value];
      shown = vehicle;
      [climb.value, descend.value] = limitsOf[vehicle];
    }
  });
}

interface Adjusted {
  label: string;
  unit: string;
  field: Signal<string>;
  before: string;
  after: string;
}

const ADJUSTABLE: [string, string, Signal<string>][] = [
  ["cell size", "\u00a0m", cell],
  ["sensor range", "\u00a0m", range],
  ["maximum climb", "°", climb],
  ["maximum descent", "°", descend],
];
const adjustments = signal<Adjusted[]>([]);

/** Do something that sets fields, and keep what it changed. */
function adjust(doing: () => void): void {
  const before = ADJUSTABLE.map(([, , field]) => field.value);
  doing();
  const changed = ADJUSTABLE.flatMap(([label, unit, field], i): Adjusted[] => {
    const [old = "", after] = [before[i], field.value];
    return old === after || !after ? [] : [{ label, unit, field, before: old, after }];
  });
  const fields = new Set(changed.map(({ field }) => field));
  adjustments.value = [...adjustments.value.filter(({ field }) => !fields.has(field)), ...changed];
}

/** Forget what was set for another terrain. */
export function forgetAdjusted(): void {
  adjustments.value = [];
}

/** What was set for the terrain and still stands in its field, as a sentence; "" for nothing. */
export const adjusted = computed(() => {
  const standing = adjustments.value.filter(({ field, after }) => field.value === after);
  const parts = standing.map(
    ({ label, unit, before, after }) => `${label} ${after}${unit}${before ? ` (it was ${before}${unit})` : ""}`,
  );
  if (!parts.length) return "";
  const limits = standing.some(({ field }) => field === climb || field === descend);
  const back = limits ? " Limits that you typed stay with the kind of terrain that you typed them for." : "";
  return `Set for this terrain: ${parts.join(", ")}.${back}`;
});

effect(() => {
  if (!defaultsOf("rover")) return;
  untracked(suitTerrain);
  forgetAdjusted(); // nobody has seen other values
});

const besideChosen = signal<boolean | null>(null);

/** Whether an unsafe explorer goes beside a safe one: unless chosen, on all grounds but one's own. */
export const beside = {
  get value(): boolean {
    return besideChosen.value ?? !(kind.value === "rover" && source.value === "upload");
  },
  set value(chosen: boolean) {
    besideChosen.value = chosen;
  },
};

export const keepsLevel = computed(() => explorer.value === "safe" || explorer.value === "naive");

/** Whether it is the paper's Algorithm 1, which keeps its levels plan by plan. */
export const isPaper = computed(() => algorithm.value === "paper");

/** Whether the explorer's bonus counts squares. */
const countsSquares = computed(() => explorer.value === "safe" || explorer.value === "uncover");

/** What a floor is counted in. */
export const floorUnit = computed(() => {
  if (kind.value === "rover") return "nats per step";
  return countsSquares.value ? "squares per step" : "bonus per step";
});

/** The floor where none is given. */
export const floorDefault = computed(() => {
  if (kind.value === "rover") return "0.05";
  return countsSquares.value ? "0.001" : "a millionth of the largest bonus";
});

/** Whether an unsafe explorer goes beside the safe one. */
export const isPair = computed(() => explorer.value === "safe" && beside.value);

function given(entries: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(entries).filter(([, value]) => value !== null && value !== ""),
  );
}

/** Return the terrain as keys of a configuration. */
function land(): Record<string, unknown> {
  const terrain = source.value === "upload" ? (file.value?.upload ?? null) : source.value;
  const mars = source.value === "mars";
  return given({
    terrain,
    terrain_seed: mars ? number(landSeed.value) : null,
    rows: mars ? number(rows.value) : null,
    columns: mars ? number(columns.value) : null,
    cell: number(cell.value),
    window: part.value.trim(),
    obstacles: obstacles.value?.upload ?? null,
    keep_out: keepOut.value?.upload ?? null,
  });
}

/** Return the limits of the slopes as keys of a configuration. */
function vehicle(): Record<string, unknown> {
  const driven = isDriven.value;
  return { climb: number(climb.value), descend: number(descend.value), roll: driven ? number(roll.value) : null };
}

/** Other settings that the preview depends on. */
const SHAPING = ["ground", "wheelbase", "blur", "error", "height_unit"];

/** The query of the preview, which judges real terrain by the vehicle; "" while a value is missing or not accepted. */
export const query = computed(() => {
  const mars = { terrain_seed: landSeed, rows, columns };
  const needed = { ...(isDriven.value ? { climb, descend, roll } : mars) };
  if (source.value === "upload" && !file.value) return "";
  const wrong = ([key, { value }]: [string, Signal<string>]): boolean =>
    !value.trim() || accepted("rover", key).check(value) !== "";
  if (Object.entries(needed).some(wrong) || accepted("rover", "cell").check(cell.value)) return "";
  const others = Object.entries(othersGiven("rover")).filter(([key]) => SHAPING.includes(key));
  const set = [...Object.entries({ ...land(), ...(isDriven.value ? vehicle() : {}) }), ...others];
  return new URLSearchParams(set.map(([key, value]) => [key, String(value)])).toString();
});

/** Whether settings that the preview does not know move a start that is not given. */
export const movesStart = computed(() => {
  const others = Object.keys(othersGiven("rover"));
  return inside.value.trim() !== "" || ["belief", "kernel", "error_length"].some((key) => others.includes(key));
});

/** Return the window to stay inside: first and last row, first and last column. */
function windowGiven(): unknown {
  const found = [insideRows, insideColumns].map((side) => span(side.value));
  const all = [0, Number(size.value) - 1];
  return found.every((side) => side === null) ? null : found.map((side) => side ?? all);
}

/** Return the polygons to stay inside as closed rings. */
function polygonsGiven(): unknown {
  const rings = polygons(inside.value);
  if (typeof rings === "string") return rings;
  return rings.length ? rings.map((ring) => [[...ring, ring[0]]]) : null;
}

/** Return the limits of the whole run, which a rover of the default algorithm has. */
function limits(): Record<string, unknown> {
  if (kind.value !== "rover" || isPaper.value) return {};
  return { distance: number(distance.value), energy: number(energy.value) };
}

/** Return the targets of a rover of the default algorithm. */
function targetsGiven(): unknown {
  const found = isPaper.value ? [] : targets(places.value);
  return typeof found === "string" || found.length ? found : null;
}

/** Return the safety criteria as keys of a configuration. */
function promises(): Record<string, unknown> {
  const paper = isPaper.value;
  const shared = {
    algorithm: algorithm.value,
    floor: paper ? null : number(floor.value),
    recall: paper ? number(recall.value) : null,
  };
  if (!keepsLevel.value) return shared;
  const named = home.value === "bases";
  const place = home.value === "current" && !paper ? "start" : home.value;
  const area = kind.value === "grid" ? windowGiven() : polygonsGiven();
  return {
    ...shared,
    delta: level.given,
    home: named ? null : place,
    bases: named ? cells(bases.value) : null,
    each_base: named && each.value ? true : null,
    back_within: number(within.value),
    back_within_delta: within.value.trim() ? number(withinLevel.value) : null,
    keep_in: area,
    keep_in_delta: paper && area !== null ? number(insideLevel.value) : null,
    ...limits(),
  };
}

/** Return the configuration; `start` is a row and a column of the terrain, or null. */
export function config(start: [number, number] | null): Record<string, unknown> {
  const shared = {
    seed: number(seed.value),
    explorer: explorer.value,
    ...promises(),
    limit: number(limit.value),
    ...othersGiven(kind.value),
  };
  if (kind.value === "grid")
    return given({ ...shared, size: number(size.value), walls: number(walls.value) });
  return given({
    ...shared,
    ...land(),
    ...vehicle(),
    sensor_range: number(range.value),
    start,
    targets: targetsGiven(),
    truth: truth.value,
  });
}
