// Plots against steps. The vertical line is the cursor; click or drag to move it.

import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import type { Cursor } from "../run/cursor";
import { namesOf } from "../run/model";
import type { RunModel } from "../run/model";
import { Later } from "./later";
import { beside, criterionName, figure, isOfRun } from "../words";

interface Line {
  label: string;
  stroke: string; // a colour of the style sheet
  dash?: "dashed" | "dotted";
  level?: boolean; // a level to compare with, named by its value
  fill?: boolean;
  unit?: string; // where the lines of a plot have different ones
  right?: boolean; // whether its scale is on the right
  values: () => ArrayLike<number> | null; // by step; null: nothing is recorded
}

/** A line of which something is recorded. */
type Present = Line & { y: ArrayLike<number> };

interface Kind {
  name: "bounds" | "known" | "times";
  title: string;
  unit: string;
  low?: number;
  high?: number;
  log?: boolean; // whether equal factors are equally far apart
  lines: (runs: readonly RunModel[]) => Line[];
}

const MAX_BINS = 600; // along a line; of each, the least and the greatest value are drawn
const MAX_INTERVALS = { x: 4, y: 3 }; // between the labels of an axis

const STROKES = ["accent", "second", "third", "fourth", "fifth", "sixth"];

/** Return lines of the proven safety: of each plan, and of the plan that starts with the move made. */
function bounds(runs: readonly RunModel[]): Line[] {
  const names = namesOf(runs);
  return runs.flatMap((run, i) => {
    const criteria = run.details.value?.criteria ?? [];
    const proven = criteria.filter(({ kind }) => kind !== "earn");
    return criteria.flatMap((criterion, k): Line[] => {
      if (criterion.kind === "earn") return [];
      const whose = [
        runs.length > 1 ? names[i] : "",
        proven.length > 1 ? criterionName(criterion) : "",
      ].filter((word) => word);
      const stroke = STROKES[(i + k) % STROKES.length] as string;
      const of = (name: "bound" | "kept") => (): Float64Array | null => {
        const { count, criteria: wide, [name]: table } = run.columns.value;
        if (!table.length) return null;
        return Float64Array.from({ length: count }, (_, n) => table[n * wide + k] as number);
      };
      const { level } = criterion;
      const label = (what: string): string => [...whose, what].join(", ");
      const required: Line = {
        label: `δ = ${level}`,
        stroke: "warn",
        dash: "dashed",
        level: true,
        values: () => [level],
      };
      if (run.details.value && isOfRun(run.details.value)) {
        const after = (): Float64Array | null => {
          const kept = of("kept")();
          const values = kept && new Float64Array(kept.length + 1).fill(1); // nothing is spent at first
          values?.set(kept ?? [], 1);
          return values;
        };
        return [{ label: label("whole run"), stroke, values: after }, required];
      }
      return [
        { label: label("plan"), stroke, dash: "dotted", values: of("bound") },
        { label: label("move made"), stroke, values: of("kept") },
        required,
      ];
    });
  });
}

/** Return lines of what is known, on two scales if two runs measure it in different units. */
function knowns(runs: readonly RunModel[]): Line[] {
  const names = namesOf(runs);
  const units = runs.map(knownName);
  const differ = new Set(units).size > 1;
  return runs.map((run, i) => ({
    label: runs.length > 1 ? (names[i] as string) : (units[i] as string),
    stroke: STROKES[i % STROKES.length] as string,
    fill: true,
    ...(differ ? { unit: units[i] as string, right: units[i] !== units[0] } : {}),
    values: () => {
      const { count, known, knownAtStart } = run.columns.value;
      if (!known) return null;
      const values = new Float32Array(count + 1).fill(knownAtStart ?? NaN);
      values.set(known, 1);
      return values;
    },
  }));
}

const KINDS: Kind[] = [
  { name: "bounds", title: "Proven safety and δ", unit: "", high: 1, lines: bounds },
  { name: "known", title: "Knowledge", unit: "", low: 0, lines: knowns },
  {
    name: "times",
    title: "Planning time",
    unit: "ms",
    log: true,
    lines: (runs) =>
      runs.map((run, i) => ({
        label: runs.length > 1 ? (namesOf(runs)[i] as string) : "per plan",
        stroke: STROKES[i % STROKES.length] as string,
        values: () => {
          const { plan_ms } = run.columns.value;
          return plan_ms?.some((value) => !Number.isNaN(value)) ? plan_ms : null;
        },
      })),
  },
];

function knownName(run: RunModel): string {
  return run.details.value?.kind === "grid"
    ? "fraction of squares seen"
    : "entropy reduction in nats";
}

export function Plots({ cursor }: { cursor: Cursor }) {
  return (
    <section class="plots stack" aria-label="Plots against steps">
      {KINDS.map((kind) => (
        <Later key={kind.title}>
          <Plot kind={kind} cursor={cursor} />
        </Later>
      ))}
    </section>
  );
}

function Plot({ kind, cursor }: { kind: Kind; cursor: Cursor }) {
  const present = useMemo(
    () =>
      computed(() =>
        kind.lines(cursor.runs).flatMap((line): Present[] => {
          const y = line.values();
          return y ? [{ ...line, y }] : [];
        }),
      ),
    [kind, cursor],
  );
  const lines = present.value;
  const last = Math.max(1, cursor.last.value); // all plots reach as far as the longest run
  const drawing = useMemo(() => <Drawing kind={kind} lines={lines} last={last} />, [kind, lines, last]);
  const [first, [run]] = [lines[0], cursor.runs];
  const unit = first && run && kind.name === "known" && !first.unit ? knownName(run) : kind.unit;
  const spoken = lines.map((line) =>
    [line.label, valueAt(kind, line, cursor), line.unit].filter(Boolean).join(" "),
  );
  const named = lines.length > 1 || cursor.runs.length > 1;
  const jump = (event: PointerEvent & { currentTarget: HTMLElement }): void => {
    const box = event.currentTarget.getBoundingClientRect();
    event.currentTarget.style.setProperty("--pointer", `${event.clientX - box.left}px`);
    if (!(event.buttons & 1)) return;
    cursor.playing.value = false;
    cursor.jump((last * (event.clientX - box.left)) / box.width);
  };
  return (
    <figure class="plot card">
      <figcaption class="row fine">
        <b>{kind.title}</b>
        {unit && <span class="unit"> {unit}</span>}
        <span class="plot-values row">
          {lines.map((line, i) => (
            <span key={i}>
              <i class={`line ${line.stroke} ${line.dash ?? ""}`} />
              {named ? line.label : ""} {!line.level && <b>{valueAt(kind, line, cursor)}</b>}
              {line.unit && <span class="unit"> {line.unit}</span>}
            </span>
          ))}
        </span>
      </figcaption>
      {lines.length ? (
        <div class="plot-box" role="img" aria-label={`${kind.title}: ${spoken.join("; ")}`}>
          <div
            class={lines.some(({ right }) => right) ? "plot-area two-scales" : "plot-area"}
            onPointerDown={(event) => {
              event.currentTarget.setPointerCapture(event.pointerId);
              jump(event);
            }}
            onPointerMove={jump}
          >
            {drawing}
            <i class="plot-now" style={{ left: percent(cursor.step.value / last) }} />
          </div>
        </div>
      ) : (
        <p class="plot-none fine">{emptyWord(kind, cursor)}</p>
      )}
    </figure>
  );
}

function emptyWord(kind: Kind, cursor: Cursor): string {
  if (cursor.last.value === 0) return "No step was taken yet.";
  if (kind.name === "bounds")
    return "No promise: this explorer has no safety criterion, so nothing is proven.";
  const median = cursor.runs.flatMap((run) => run.details.value?.plan_ms ?? []);
  if (kind.name === "times" && median.length) {
    return `Not recorded for each step. Median: ${median.map((ms) => figure(ms, 3)).join(" and ")} ms.`;
  }
  return "Not recorded, or still being computed.";
}

/** Format the value of a line at the cursor; a proven bound is never rounded up. */
function valueAt(kind: Kind, { y, level }: Present, cursor: Cursor): string {
  const value = y[Math.min(y.length - 1, cursor.step.value)] ?? null;
  if (level) return "";
  return kind.name === "bounds" && value !== null ? beside(value, null) : figure(value, 5);
}

function percent(part: number): string {
  return `${100 * Math.min(1, part)}%`;
}

/** The lines of a plot, and its axes with their labels; 100 units high and a unit wide per step. */
function Drawing({ kind, lines, last }: { kind: Kind; lines: Present[]; last: number }) {
  const drawn = lines.map((line) => ({ ...line, points: pointsOf(line, last) }));
  const steps = ticksOf(0, last, MAX_INTERVALS.x).filter(Number.isInteger);
  const scales = [false, true].flatMap((right) => {
    const shown = drawn.filter((line) => !!line.right === right);
    return shown.length ? [{ right, shown, ...scaleOf(kind, shown) }] : [];
  });
  return (
    <>
      <svg viewBox={`0 0 ${last} 100`} preserveAspectRatio="none">
        {steps.map((x) => (
          <path key={`x${x}`} class="grid" d={`M${x} 0V100`} />
        ))}
        {scales[0]?.ticks.map((tick) => (
          <path key={`y${tick}`} class="grid" d={`M0 ${scales[0]?.place(tick)}H${last}`} />
        ))}
        {scales.flatMap(({ shown, place }) =>
          shown.map(({ points, dash, fill, level, stroke }, i) => {
            const d = `M${points.map(([x, y]) => `${x} ${place(y)}`).join("L")}`;
            const colour = `var(--${stroke})`;
            const end = points[points.length - 1]?.[0];
            return (
              points.length > 0 && (
                <g key={i}>
                  {fill && <path class="fill" style={{ fill: colour }} d={`${d}L${end} 100L0 100`} />}
                  <path class={`${dash ?? ""} ${level ? "level" : ""}`} style={{ stroke: colour }} d={d} />
                </g>
              )
            );
          }),
        )}
      </svg>
      {steps.map((x) => (
        <span key={x} class="tick x" style={{ left: percent(x / last) }}>
          {x === 0 ? "step\u00a00" : figure(x, 6)}
        </span>
      ))}
      {scales.map(({ right, ticks, place }) =>
        ticks.map((tick) => (
          <span key={tick} class={right ? "tick right" : "tick left"} style={{ top: `${place(tick)}%` }}>
            {figure(tick, 4)}
          </span>
        )),
      )}
    </>
  );
}

/** Return points [step, value] of a line: if there are many, the extremes of each of 600 parts. */
function pointsOf({ y, level }: Present, last: number): [number, number][] {
  if (level) return [0, last].map((x) => [x, y[0] as number]);
  const size = Math.ceil(y.length / MAX_BINS);
  const points: [number, number][] = [];
  for (let from = 0; from < y.length; from += size) {
    let [low, high] = [-1, -1]; // where the values are lowest and highest
    for (let i = from; i < Math.min(from + size, y.length); i++) {
      const value = y[i] as number;
      if (Number.isNaN(value)) continue;
      if (low < 0 || value < (y[low] as number)) low = i;
      if (high < 0 || value > (y[high] as number)) high = i;
    }
    const ends = low === high ? [low] : [Math.min(low, high), Math.max(low, high)];
    if (low >= 0) for (const i of ends) points.push([i, y[i] as number]);
  }
  return points;
}

/** Return the labels of a vertical axis, and the function from a value to its place, 0 (top) to 100. */
function scaleOf(
  { low, high, log }: Kind,
  lines: { points: [number, number][] }[],
): { ticks: number[]; place: (value: number) => number } {
  const values = lines.flatMap(({ points }) => points.map(([, y]) => y)).filter((y) => !log || y > 0);
  const least = low ?? Math.min(...values);
  const most = high ?? Math.max(...values);
  if (!(least <= most)) return { ticks: [], place: () => 100 }; // no value has come yet
  const room = 0.08 * Math.max(most - least, 1e-6);
  const [bottom, top] = log ? [least / 1.5, most * 1.5] : [low ?? least - room, most + room];
  const at = (value: number): number => (log ? Math.log(Math.max(value, bottom)) : value);
  return {
    ticks: log ? round(bottom, top) : ticksOf(bottom, top, MAX_INTERVALS.y),
    place: (value) =>
      Number((100 * (1 - (at(value) - at(bottom)) / (at(top) - at(bottom)))).toFixed(2)),
  };
}

/** Return multiples of 1, 2 or 5 times a power of ten, at most `most` + 1 of them. */
function ticksOf(low: number, high: number, most: number): number[] {
  const least = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * ([1, 2, 5].find((factor) => factor * power >= least) ?? 10);
  const [first, end] = [Math.ceil(low / step), Math.floor(high / step)];
  return Array.from({ length: end - first + 1 }, (_, i) => Number(((first + i) * step).toPrecision(9)));
}

/** Return two to five round numbers between two, at equal factors if possible. */
function round(low: number, high: number): number[] {
  const powers = Array.from({ length: 25 }, (_, i) => i - 12);
  const between = (factors: number[]): number[] =>
    powers
      .flatMap((power) => factors.map((factor) => factor * 10 ** power))
      .filter((number) => number >= low && number <= high);
  const tens = between([1]);
  if (tens.length > 5) return tens.filter((_, i) => i % Math.ceil(tens.length / 5) === 0);
  if (tens.length > 1) return tens;
  const more = between([1, 2, 5]);
  return more.length > 1 ? more : [low, high];
}
