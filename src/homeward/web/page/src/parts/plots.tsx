// Plots against steps. The vertical line is the cursor; click or drag to move it.

import { computed, effect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Cursor } from "../run/cursor";
import { namesOf } from "../run/model";
import type { RunModel } from "../run/model";
import { criterionName, figure, isOfRun } from "../words";
import { colour, dark } from "./theme";

interface Line {
  label: string;
  stroke: string; // a colour of the style sheet
  dash?: "dashed" | "dotted";
  level?: boolean; // a level to compare with, named by its value
  fill?: boolean;
  unit?: string; // where the lines of a plot have different ones
  right?: boolean; // whether its scale is on the right
  at: () => Points | null; // null: nothing is recorded
}

interface Points {
  x: number[];
  y: ArrayLike<number>;
}

/** A line of which something is recorded. */
type Present = Line & { points: Points };

interface Kind {
  name: "bounds" | "known" | "times";
  title: string;
  unit: string;
  low?: number;
  high?: number;
  log?: boolean; // whether equal factors are equally far apart
  lines: (runs: readonly RunModel[]) => Line[];
}

let fetched: Promise<typeof uPlot> | null = null;

/** Load the plotting library when the first plot is drawn. */
function library(): Promise<typeof uPlot> {
  fetched ??= import("uplot").then((module) => module.default);
  return fetched;
}

const STROKES = ["accent", "second", "third", "fourth", "fifth", "sixth"];

function column(run: RunModel, name: "plan_ms", shift: number): Line["at"] {
  return () => {
    const { count, [name]: y } = run.columns.value;
    return y?.some((value) => !Number.isNaN(value)) ? { x: steps(count, shift), y } : null;
  };
}

/** Return `count` consecutive numbers from `first` on. */
function steps(count: number, first: number): number[] {
  return Array.from({ length: count }, (_, i) => i + first);
}

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
      const of = (name: "bound" | "kept") => (): ReturnType<Line["at"]> => {
        const { count, criteria: wide, [name]: table } = run.columns.value;
        const y = Float32Array.from({ length: count }, (_, n) => table[n * wide + k] as number);
        return table.length ? { x: steps(count, 0), y } : null;
      };
      const { level } = criterion;
      const at = (): ReturnType<Line["at"]> => ({ x: [0, Math.max(1, run.count.value)], y: [level, level] });
      const label = (what: string): string => [...whose, what].join(", ");
      const asked: Line = { label: `δ = ${level}`, stroke: "warn", dash: "dashed", level: true, at };
      if (run.details.value && isOfRun(run.details.value))
        return [{ label: label("whole run"), stroke, at: of("kept") }, asked];
      return [
        { label: label("plan"), stroke, dash: "dotted", at: of("bound") },
        { label: label("move made"), stroke, at: of("kept") },
        asked,
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
    at: () => {
      const { count, known, knownAtStart } = run.columns.value;
      if (!known) return null;
      return { x: steps(count + 1, 0), y: Float32Array.from([knownAtStart ?? NaN, ...known]) };
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
        at: column(run, "plan_ms", 0),
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
        <Plot key={kind.title} kind={kind} cursor={cursor} />
      ))}
    </section>
  );
}

function Plot({ kind, cursor }: { kind: Kind; cursor: Cursor }) {
  const element = useRef<HTMLDivElement>(null);
  const present = useMemo(
    () =>
      computed(() =>
        kind.lines(cursor.runs).flatMap((line): Present[] => {
          const points = line.at();
          return points ? [{ ...line, points }] : [];
        }),
      ),
    [kind, cursor],
  );
  const lines = present.value;
  const shape = lines.map((line) => line.label).join("|");
  const [first, [run]] = [lines[0], cursor.runs];
  const unit = first && run && kind.name === "known" && !first.unit ? knownName(run) : kind.unit;

  useEffect(() => {
    const box = element.current;
    if (!box || !shape) return undefined;
    let plot: uPlot | null = null;
    const marker = document.createElement("div");
    marker.className = "plot-now";
    const place = (): void => {
      if (!plot) return;
      const x = plot.valToPos(cursor.step.peek(), "x");
      const inside = Math.max(0, Math.min(plot.bbox.width / devicePixelRatio, x));
      marker.style.transform = `translateX(${Math.round(inside)}px)`;
    };
    const stops: (() => void)[] = [];
    // Each plot is made in a task of its own, so that none keeps the page from answering.
    let begin = 0;
    let closed = false;
    const start = (Plot: typeof uPlot): void => {
      const make = effect(() => {
        void dark.value;
        plot?.destroy();
        const known = present.peek();
        plot = new Plot(
          optionsOf(kind, known, box.clientWidth, cursor, place),
          dataOf(known, Plot),
          box,
        );
        plot.over.append(marker);
        scrub(plot.over, plot, cursor);
        place();
      });
      let drawn = true;
      const fill = effect(() => {
        void cursor.last.value; // all plots reach as far as the longest run
        const lines = present.value;
        const data = dataOf(lines, Plot);
        // Lines that come or go change `shape`, and with it the plot.
        if (!drawn && plot?.series.length === lines.length + 1) plot.setData(data);
        drawn = false;
      });
      const follow = effect(() => {
        void cursor.step.value;
        place();
      });
      stops.push(make, fill, follow);
    };
    void library().then((Plot) => {
      if (!closed) begin = window.setTimeout(() => start(Plot));
    });
    const watch = new ResizeObserver(() => {
      if (plot && box.clientWidth) plot.setSize({ width: box.clientWidth, height: 118 });
      place();
    });
    watch.observe(box);
    return () => {
      closed = true;
      window.clearTimeout(begin);
      stops.forEach((stop) => stop());
      watch.disconnect();
      plot?.destroy();
    };
  }, [shape, cursor, kind]);

  const spoken = lines.map((line) =>
    [line.label, valueAt(line, cursor), line.unit].filter(Boolean).join(" "),
  );
  const named = lines.length > 1 || cursor.runs.length > 1;
  return (
    <figure class="plot card">
      <figcaption class="row fine">
        <b>{kind.title}</b>
        {unit && <span class="unit"> {unit}</span>}
        <span class="plot-values row">
          {lines.map((line, i) => (
            <span key={i}>
              <i class={`line ${line.stroke} ${line.dash ?? ""}`} />
              {named ? line.label : ""} {!line.level && <b>{valueAt(line, cursor)}</b>}
              {line.unit && <span class="unit"> {line.unit}</span>}
            </span>
          ))}
        </span>
      </figcaption>
      {shape ? (
        <div
          ref={element}
          class="plot-box"
          role="img"
          aria-label={`${kind.title}: ${spoken.join("; ")}`}
        />
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

function valueAt({ points: { x, y }, level }: Present, cursor: Cursor): string {
  if (level) return "";
  const i = Math.min(y.length - 1, Math.max(0, cursor.step.value - (x[0] ?? 0)));
  return figure(y[i] ?? null, 4);
}

function dataOf(lines: Present[], Plot: typeof uPlot): uPlot.AlignedData {
  const [only] = lines;
  const tables = lines.map(
    ({ points: { x, y } }) =>
      [Array.from(x), Array.from(y, (v) => (Number.isNaN(v) ? null : v))] as uPlot.AlignedData,
  );
  if (!only) return [[]];
  return tables.length === 1 ? (tables[0] as uPlot.AlignedData) : Plot.join(tables);
}

const DASHES = { dashed: [5, 4], dotted: [1.5, 3] };

function optionsOf(
  kind: Kind,
  lines: Line[],
  width: number,
  cursor: Cursor,
  redrawn: () => void,
): uPlot.Options {
  const axis: uPlot.Axis = {
    stroke: colour("soft"),
    grid: { stroke: colour("line"), width: 1 },
    ticks: { stroke: colour("line"), width: 1, size: 4 },
    font: "11px system-ui, sans-serif",
  };
  const scale: uPlot.Scale = {
    distr: kind.log ? 3 : 1,
    range: (_, low: number | null, high: number | null) => {
      if (low === null || high === null) return [0, 1]; // none of its lines has come yet
      if (kind.log) return [low / 1.5, high * 1.5];
      const bottom = kind.low ?? low;
      const top = kind.high ?? high;
      const room = Math.max(top - bottom, 1e-6) * 0.08;
      return [kind.low ?? bottom - room, top + room];
    },
  };
  const upright: uPlot.Axis = {
    ...axis,
    size: 46,
    // Where a logarithmic axis leaves a label out, there is no tick.
    values: (_, ticks) => ticks.map((tick: number | null) => (tick === null ? "" : figure(tick, 3))),
    ...(kind.log ? { splits: (_plot, _axis, low, high) => round(low, high) } : {}),
  };
  const right = lines.some((line) => line.right);
  return {
    width,
    height: 118,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false, setScale: false }, points: { show: false } },
    scales: {
      x: { time: false, range: () => [0, Math.max(1, cursor.last.peek())] },
      y: scale,
      ...(right ? { right: scale } : {}),
    },
    axes: [
      { ...axis, size: 26 },
      upright,
      ...(right ? [{ ...upright, scale: "right", side: 1 as const, grid: { show: false } }] : []),
    ],
    series: [
      {},
      ...lines.map((line): uPlot.Series => ({
        label: line.label,
        stroke: colour(line.stroke),
        scale: line.right ? "right" : "y",
        width: line.level ? 1.2 : 1.6,
        spanGaps: true,
        points: { show: false },
        ...(line.dash ? { dash: DASHES[line.dash] } : {}),
        ...(line.fill ? { fill: `${colour(line.stroke)}1f` } : {}),
      })),
    ],
    hooks: { draw: [redrawn] },
  };
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

/** Move the cursor to where the plot is clicked or dragged. */
function scrub(over: HTMLElement, plot: uPlot, cursor: Cursor): void {
  const jump = (event: PointerEvent): void => {
    const box = over.getBoundingClientRect();
    cursor.playing.value = false;
    cursor.jump(plot.posToVal(event.clientX - box.left, "x"));
  };
  over.addEventListener("pointerdown", (event) => {
    over.setPointerCapture(event.pointerId);
    jump(event);
  });
  over.addEventListener("pointermove", (event) => {
    if (event.buttons & 1) jump(event);
  });
}
