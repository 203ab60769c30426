// Plots against steps. The line is the cursor; click or drag to move it.

import { effect, untracked } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import type { Cursor } from "../run/cursor";
import type { RunModel } from "../run/model";
import { explorerName, figure } from "../words";
import { colour, dark } from "./theme";

interface Line {
  label: string;
  stroke: string; // a colour of the style sheet
  dash?: number[];
  fill?: boolean;
  at: (run: RunModel) => { x: number[]; y: ArrayLike<number> } | null;
  run: RunModel;
}

interface Kind {
  title: string;
  unit: string;
  low?: number;
  high?: number;
  log?: boolean; // whether equal factors are equally far apart
  lines: (runs: readonly RunModel[]) => Line[];
}

let fetched: Promise<typeof uPlot> | null = null;

/** Fetch what draws plots, when the first is to be drawn. */
function library(): Promise<typeof uPlot> {
  fetched ??= import("uplot").then((module) => module.default);
  return fetched;
}

const STROKES = ["accent", "second"];

function column(name: "known" | "plan_ms", shift: number) {
  return (run: RunModel) => {
    const columns = run.columns.value;
    const y = columns[name];
    return y?.some((value) => !Number.isNaN(value)) ? { x: steps(columns.count, shift), y } : null;
  };
}

const counted = new Map<string, number[]>();

/** Give the numbers from `shift` on; the last few lists are kept, since they are asked for often. */
function steps(count: number, shift: number): number[] {
  const key = `${count},${shift}`;
  let list = counted.get(key);
  if (!list) {
    if (counted.size > 8) counted.clear();
    list = Array.from({ length: count }, (_, i) => i + shift);
    counted.set(key, list);
  }
  return list;
}

/** Give the bound that was proven of each criterion for the move that was made. */
function bounds(runs: readonly RunModel[]): Line[] {
  return runs.flatMap((run, i) => {
    const criteria = run.details.value?.criteria ?? [];
    return criteria.flatMap((criterion, k): Line[] => {
      if (criterion.kind === "earn") return [];
      const name =
        runs.length > 1 ? explorerName(run.details.value?.explorer ?? null) : criterion.name;
      const stroke = STROKES[(i + k) % 2] as string;
      const of = (run: RunModel) => {
        const { count, bound, criteria: wide } = run.columns.value;
        if (!bound.length) return null;
        return { x: steps(count, 0), y: wide === 1 ? bound : strided(bound, count, wide, k) };
      };
      const level = (run: RunModel) => ({
        x: [0, Math.max(1, run.count.value)],
        y: [criterion.level, criterion.level],
      });
      return [
        { label: `bound, ${name}`, stroke, at: of, run },
        { label: `δ = ${criterion.level}`, stroke: "warn", dash: [5, 4], at: level, run },
      ];
    });
  });
}

const columnsOf = new WeakMap<Float32Array, Map<number, Float32Array>>();

/** Give column k of a table [N, K]; made once for each table. */
function strided(table: Float32Array, count: number, wide: number, k: number): Float32Array {
  const known = columnsOf.get(table) ?? new Map<number, Float32Array>();
  columnsOf.set(table, known);
  let found = known.get(k);
  if (!found) {
    found = Float32Array.from({ length: count }, (_, n) => table[n * wide + k] as number);
    known.set(k, found);
  }
  return found;
}

const KINDS: Kind[] = [
  { title: "Proven safety, against δ", unit: "", high: 1, lines: bounds },
  {
    title: "What is known",
    unit: "",
    low: 0,
    lines: (runs) =>
      runs.map((run, i) => ({
        label: runs.length > 1 ? explorerName(run.details.value?.explorer ?? null) : knownName(run),
        stroke: STROKES[i % 2] as string,
        fill: true,
        at: column("known", 1),
        run,
      })),
  },
  {
    title: "Planning time",
    unit: "ms",
    log: true,
    lines: (runs) =>
      runs.map((run, i) => ({
        label: runs.length > 1 ? explorerName(run.details.value?.explorer ?? null) : "a plan",
        stroke: STROKES[i % 2] as string,
        at: column("plan_ms", 0),
        run,
      })),
  },
];

function knownName(run: RunModel): string {
  return run.details.value?.kind === "grid"
    ? "fraction of squares seen"
    : "entropy taken off, in nats";
}

export function Plots({ cursor }: { cursor: Cursor }) {
  return (
    <section class="plots" aria-label="Plots against steps">
      {KINDS.map((kind) => (
        <Plot key={kind.title} kind={kind} cursor={cursor} />
      ))}
    </section>
  );
}

function Plot({ kind, cursor }: { kind: Kind; cursor: Cursor }) {
  const element = useRef<HTMLDivElement>(null);
  const lines = kind.lines(cursor.runs).filter((line) => line.at(line.run) !== null);
  const shape = lines.map((line) => line.label).join("|");
  const unit =
    kind.title === "What is known" && cursor.runs[0] ? knownName(cursor.runs[0]) : kind.unit;

  useEffect(() => {
    const box = element.current;
    if (!box || !shape) return undefined;
    let plot: uPlot | null = null;
    const present = (): Line[] =>
      kind.lines(cursor.runs).filter((line) => line.at(line.run) !== null);
    const marker = document.createElement("div");
    marker.className = "plot-now";
    const place = (): void => {
      if (!plot) return;
      const x = plot.valToPos(cursor.step.peek(), "x");
      marker.style.transform = `translateX(${Math.round(x)}px)`;
    };
    const stops: (() => void)[] = [];
    // Each plot is made in a task of its own, so that none keeps the page from answering.
    let begin = 0;
    let closed = false;
    const start = (Plot: typeof uPlot): void => {
      const make = effect(() => {
        void dark.value;
        plot?.destroy();
        const known = untracked(present);
        plot = new Plot(
          optionsOf(kind, known, box.clientWidth, place),
          untracked(() => dataOf(known, Plot)),
          box,
        );
        plot.over.append(marker);
        scrub(plot.over, plot, cursor);
        place();
      });
      let drawn = true;
      const fill = effect(() => {
        const data = dataOf(present(), Plot);
        if (!drawn) plot?.setData(data);
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

  return (
    <figure class="plot">
      <figcaption>
        <b>{kind.title}</b>
        {unit && <span class="unit"> {unit}</span>}
        <span class="plot-values">
          {lines.map((line) => (
            <span key={line.label}>
              <i class={`line ${line.stroke}${line.dash ? " dashed" : ""}`} />
              {line.dash ? line.label : cursor.runs.length > 1 ? line.label : ""}{" "}
              {!line.dash && <b>{valueAt(line, cursor)}</b>}
            </span>
          ))}
        </span>
      </figcaption>
      {shape ? (
        <div
          ref={element}
          class="plot-box"
          role="img"
          aria-label={`${kind.title}: ${lines.map((line) => `${line.label} ${valueAt(line, cursor)}`).join(", ")}`}
        />
      ) : (
        <p class="plot-none">{emptyWord(kind, cursor)}</p>
      )}
    </figure>
  );
}

function emptyWord(kind: Kind, cursor: Cursor): string {
  if (cursor.last.value === 0) return "Nothing yet: no step was taken.";
  if (kind.title.startsWith("Proven"))
    return "This explorer keeps nothing safe, so nothing is proven.";
  const median = cursor.runs.flatMap((run) => run.details.value?.plan_ms ?? []);
  if (kind.title === "Planning time" && median.length) {
    return `Not recorded step by step. Half of the plans took less than ${median.map((ms) => figure(ms, 3)).join(" and ")} ms.`;
  }
  return "Not recorded, or still being worked out.";
}

function valueAt(line: Line, cursor: Cursor): string {
  const found = line.at(line.run);
  if (!found) return "–";
  if (line.dash) return "";
  const first = found.x[0] ?? 0;
  const i = Math.min(found.y.length - 1, Math.max(0, cursor.step.value - first));
  return figure(found.y[i] ?? null, 4);
}

function dataOf(lines: Line[], Plot: typeof uPlot): uPlot.AlignedData {
  const found = lines.map((line) => line.at(line.run) ?? { x: [], y: [] });
  const [only] = found;
  const tables = found.map(
    ({ x, y }) =>
      [Array.from(x), Array.from(y, (v) => (Number.isNaN(v) ? null : v))] as uPlot.AlignedData,
  );
  if (!only) return [[]];
  return tables.length === 1 ? (tables[0] as uPlot.AlignedData) : Plot.join(tables);
}

function optionsOf(kind: Kind, lines: Line[], width: number, redrawn: () => void): uPlot.Options {
  const axis: uPlot.Axis = {
    stroke: colour("soft"),
    grid: { stroke: colour("line"), width: 1 },
    ticks: { stroke: colour("line"), width: 1, size: 4 },
    font: "11px system-ui, sans-serif",
  };
  return {
    width,
    height: 118,
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false, setScale: false }, points: { show: false } },
    scales: {
      x: { time: false },
      y: {
        distr: kind.log ? 3 : 1,
        range: (_, low, high) => {
          if (kind.log) return [low / 1.5, high * 1.5];
          const bottom = kind.low ?? low;
          const top = kind.high ?? high;
          const room = Math.max(top - bottom, 1e-6) * 0.08;
          return [kind.low ?? bottom - room, top + room];
        },
      },
    },
    axes: [
      { ...axis, size: 26 },
      {
        ...axis,
        size: 46,
        values: (_, ticks) => ticks.map((tick) => figure(tick, 3)),
        ...(kind.log ? { splits: (_plot, _axis, low, high) => round(low, high) } : {}),
      },
    ],
    series: [
      {},
      ...lines.map((line): uPlot.Series => ({
        label: line.label,
        stroke: colour(line.stroke),
        width: line.dash ? 1.2 : 1.6,
        spanGaps: true,
        points: { show: false },
        ...(line.dash ? { dash: line.dash } : {}),
        ...(line.fill ? { fill: `${colour(line.stroke)}1f` } : {}),
      })),
    ],
    hooks: { draw: [redrawn] },
  };
}

/** Give two to five round numbers between two, equal factors apart where there is room. */
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

/** Move the cursor where the plot is clicked, and along while the button is down. */
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
