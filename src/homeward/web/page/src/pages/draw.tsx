// Draw a world: paint heights, walls and a start on a small grid, and let both explorers loose.

import { signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { change, getJson } from "../api";
import type { Examples, Summary } from "../api";
import { to } from "../link";
import { HEIGHTS, WALL, css } from "../map/colours";
import type { Rgb } from "../map/colours";
import { attempt, complain } from "../messages";
import { LevelSlider } from "../parts/level";
import { Choice, Field } from "./new";

type Tool = "1" | "2" | "3" | "4" | "5" | "#" | "start";

interface Drawing {
  rows: string[]; // "1" to "5" and "#"
  start: [number, number];
}

const FIRST: Drawing = {
  rows: ["33333333", "33333333", "33311133", "33311133", "33311133", "33333333"],
  start: [2, 1],
};

const drawing = signal<Drawing>(FIRST);
const tool = signal<Tool>("5");
const level = signal(1);
const home = signal<"current" | "start">("current");
const examples = signal<Examples | null>(null);
const story = signal("");
const wide = signal("8");
const high = signal("6");
const LARGEST = 16;

/** Write a drawing as the text of a map: a letter a to e is the start on height 1 to 5. */
export function toText({ rows, start }: Drawing): string {
  return rows
    .map((line, r) =>
      [...line]
        .map((square, c) =>
          r === start[0] && c === start[1] ? ("abcde"[Number(square) - 1] ?? square) : square,
        )
        .join(""),
    )
    .join("\n");
}

/** Read the text of a map; null if it is none. */
export function fromText(text: string): Drawing | null {
  const rows: string[] = [];
  let start: [number, number] | null = null;
  for (const line of text.split("\n").map((each) => each.trim())) {
    if (!line) continue;
    if (!/^[1-5a-e#]+$/.test(line)) return null;
    const at = line.search(/[a-e]/);
    if (at >= 0) start = [rows.length, at];
    rows.push(line.replace(/[a-e]/g, (letter) => String("abcde".indexOf(letter) + 1)));
  }
  const width = rows[0]?.length ?? 0;
  return start && rows.every((line) => line.length === width) && rows.length <= 40 && width <= 40
    ? { rows, start }
    : null;
}

function set(row: number, column: number, what: Tool): void {
  const { rows, start } = drawing.value;
  const isStart = row === start[0] && column === start[1];
  const line = rows[row];
  if (!line || (what === "#" && isStart)) return;
  if (what === "start") {
    const square = line[column] === "#" ? "1" : line[column];
    drawing.value = { rows: put(rows, row, column, square ?? "1"), start: [row, column] };
  } else drawing.value = { rows: put(rows, row, column, what), start };
}

function put(rows: string[], row: number, column: number, square: string): string[] {
  return rows.map((line, r) =>
    r === row ? line.slice(0, column) + square + line.slice(column + 1) : line,
  );
}

function resize(): void {
  const clamp = (text: string): number =>
    Math.max(2, Math.min(LARGEST, Math.round(Number(text)) || 2));
  const [r, c] = [clamp(high.value), clamp(wide.value)];
  const { rows, start } = drawing.value;
  drawing.value = {
    rows: Array.from({ length: r }, (_, i) => (rows[i] ?? "").slice(0, c).padEnd(c, "2")),
    start: [Math.min(r - 1, start[0]), Math.min(c - 1, start[1])],
  };
  const [row, column] = drawing.value.start;
  if (drawing.value.rows[row]?.[column] === "#") set(row, column, "start");
}

function load(next: Drawing, said: string): void {
  drawing.value = next;
  wide.value = String(next.rows[0]?.length ?? 0);
  high.value = String(next.rows.length);
  story.value = said;
}

function scatter(): void {
  const { rows } = drawing.value;
  const pick = (): string =>
    Math.random() < 0.12 ? "#" : String(1 + Math.floor(Math.random() * 5));
  const next = rows.map((line) => [...line].map(pick).join(""));
  const start: [number, number] = [
    Math.floor(rows.length / 2),
    Math.floor((rows[0]?.length ?? 1) / 2),
  ];
  load({ rows: next, start }, "");
  set(...start, "start");
}

async function begin(): Promise<void> {
  const config = { map: toText(drawing.value), delta: level.value, home: home.value };
  const pair = await attempt(() =>
    change<{ safe: Summary; unsafe: Summary }>("POST", "/api/pairs", { kind: "grid", config }),
  );
  if (pair) location.hash = to("compare", pair.safe.id, pair.unsafe.id);
}

export function DrawPage() {
  const busy = useSignal(false);
  useEffect(() => {
    if (!examples.value) {
      getJson<Examples>("/api/examples")
        .then((found) => (examples.value = found))
        .catch(complain);
    }
  }, []);
  return (
    <main class="draw-page" id="main">
      <div class="draw-left">
        <h1>Draw a world</h1>
        <p class="lead">
          One climbs one height at a time but drops any depth, so a hole is easily entered and never
          left. The explorers know the walls, but a height only once they stand beside it. Paint,
          then watch both.
        </p>
        <Tools />
        <Board />
        <p class="soft">Keys: arrows move, 1 to 5 paint a height, # a wall, s the start.</p>
      </div>
      <div class="draw-right">
        <section class="card">
          <h2>Let both explorers loose</h2>
          <LevelSlider level={level} home={home.value} />
          <Choice
            label="Home is"
            value={home}
            options={[
              ["current", "Where it stands", "Set anew at each step, as in the paper."],
              ["start", "The start", "One base for the whole run."],
            ]}
          />
          <button
            class="main wide"
            disabled={busy.value}
            onClick={() => {
              busy.value = true;
              void begin().finally(() => (busy.value = false));
            }}
          >
            {busy.value ? "Starting…" : "Run both and compare"}
          </button>
        </section>
        <section class="card">
          <h2>Worlds to start from</h2>
          <div class="examples">
            {examples.value?.worlds.map((world) => (
              <button
                key={world.name}
                onClick={() => {
                  const read = fromText(world.map);
                  if (read) load(read, world.story);
                  else complain(`The example ${world.title} can't be read.`);
                }}
              >
                {world.title}
              </button>
            ))}
            <button onClick={scatter}>At random</button>
            <button onClick={() => load(FIRST, "")}>A crater</button>
          </div>
          {story.value && <p aria-live="polite">{story.value}</p>}
        </section>
        <details class="card">
          <summary>Size, and the map as text</summary>
          <div class="fields">
            <Field label="Rows" value={high} min={2} max={LARGEST} step={1} onChange={resize} />
            <Field label="Columns" value={wide} min={2} max={LARGEST} step={1} onChange={resize} />
          </div>
          <label class="field">
            <span>Map: 1 to 5 heights, # walls, a to e the start on height 1 to 5</span>
            <textarea
              rows={Math.min(16, drawing.value.rows.length + 1)}
              spellcheck={false}
              value={toText(drawing.value)}
              onChange={(event) => {
                const read = fromText(event.currentTarget.value);
                if (read) load(read, "");
                else
                  complain(
                    "That is no map: lines of the same length, of 1 to 5, # and one letter a to e for the start.",
                  );
              }}
            />
          </label>
        </details>
      </div>
    </main>
  );
}

const TOOLS: [Tool, string, string][] = [
  ["1", "1", "Height 1"],
  ["2", "2", "Height 2"],
  ["3", "3", "Height 3"],
  ["4", "4", "Height 4"],
  ["5", "5", "Height 5"],
  ["#", "wall", "Wall"],
  ["start", "start", "Start"],
];

function Tools() {
  return (
    <div class="tools" role="radiogroup" aria-label="What to paint">
      {TOOLS.map(([each, short, title]) => (
        <button
          key={each}
          role="radio"
          aria-label={title}
          title={title}
          aria-checked={tool.value === each}
          onClick={() => (tool.value = each)}
        >
          {each === "start" ? (
            <i class="mark-start" />
          ) : (
            <i style={{ background: css(colourOf(each)) }} />
          )}
          {short}
        </button>
      ))}
    </div>
  );
}

function colourOf(square: string): Rgb {
  return square === "#" ? WALL : (HEIGHTS[Number(square) - 1] as Rgb);
}

function Board() {
  const at = useSignal<[number, number]>([0, 0]);
  const box = useRef<HTMLDivElement>(null);
  const painting = useRef(false);
  const { rows, start } = drawing.value;
  const focus = (row: number, column: number): void => {
    at.value = [row, column];
    box.current?.querySelector<HTMLElement>(`[data-square="${row},${column}"]`)?.focus();
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [row, column] = at.value;
    const last: [number, number] = [rows.length - 1, (rows[0]?.length ?? 1) - 1];
    if (event.key === "ArrowUp") focus(Math.max(0, row - 1), column);
    else if (event.key === "ArrowDown") focus(Math.min(last[0], row + 1), column);
    else if (event.key === "ArrowLeft") focus(row, Math.max(0, column - 1));
    else if (event.key === "ArrowRight") focus(row, Math.min(last[1], column + 1));
    else if (/^[1-5#]$/.test(event.key)) set(row, column, event.key as Tool);
    else if (event.key === "s") set(row, column, "start");
    else if (event.key === "Enter" || event.key === " ") set(row, column, tool.value);
    else return;
    event.preventDefault();
  };
  const squareOf = (event: PointerEvent): [number, number] | null => {
    const under = document
      .elementFromPoint(event.clientX, event.clientY)
      ?.closest<HTMLElement>("[data-square]");
    const [r, c] = (under?.dataset["square"] ?? "").split(",").map(Number);
    return r !== undefined && c !== undefined && box.current?.contains(under ?? null)
      ? [r, c]
      : null;
  };
  const brush = (event: PointerEvent): void => {
    const square = squareOf(event);
    if (square && painting.current) {
      set(...square, tool.value);
      at.value = square;
    }
  };
  return (
    <div
      ref={box}
      class="board"
      role="grid"
      aria-label="The world"
      style={{ "--columns": String(rows[0]?.length ?? 1), "--rows": String(rows.length) }}
      onKeyDown={onKey}
      onPointerDown={(event) => {
        painting.current = true;
        brush(event);
      }}
      onPointerMove={brush}
      onPointerUp={() => (painting.current = false)}
      onPointerLeave={() => (painting.current = false)}
    >
      {rows.map((line, r) => (
        <div role="row" class="board-row" key={r}>
          {[...line].map((square, c) => {
            const isStart = r === start[0] && c === start[1];
            const part = square === "#" ? 1 : 0.4 + 0.1 * Number(square);
            return (
              <div
                key={c}
                role="gridcell"
                data-square={`${r},${c}`}
                data-height={square}
                tabIndex={at.value[0] === r && at.value[1] === c ? 0 : -1}
                aria-label={`row ${r}, column ${c}: ${square === "#" ? "wall" : `height ${square}`}${isStart ? ", start" : ""}`}
                onFocus={() => (at.value = [r, c])}
              >
                <i
                  style={{
                    background: css(colourOf(square)),
                    width: `${100 * part}%`,
                    height: `${100 * part}%`,
                  }}
                />
                {square !== "#" && <span aria-hidden="true">{square}</span>}
                {isStart && <b class="mark-start" aria-hidden="true" />}
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}
