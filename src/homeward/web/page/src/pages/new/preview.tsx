// The terrain from above: a click sets the start, and polygons to stay inside are drawn on it.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { textOf } from "../../api";
import { STAR } from "../../map/colours";
import { paint } from "../../map/paint";
import { Field } from "../../parts/fields";
import { cellName, figure } from "../../words";
import { AreaLines, AreaTools, close, corner, isDrawing } from "./area";
import * as ground from "./ground";
import type { Ground } from "./ground";
import { targets } from "./reading";
import * as settings from "./settings";

const TYPING_MS = 350; // without a key before the terrain is fetched
const MAX_SIDE = 600; // pixels of the picture

export function Preview() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const note = useSignal("");
  const query = settings.query.value;
  const on = ground.ground.value;
  const ready = settings.source.value !== "upload" || settings.file.value !== null;
  useEffect(() => {
    if (!query || ground.ground.value?.query === query) {
      note.value = query || !ground.ground.value ? "" : "The picture waits for a value that is missing or not accepted.";
      return undefined;
    }
    const stop = new AbortController();
    note.value = "Reading the terrain…";
    const wait = window.setTimeout(() => {
      ground
        .groundOf(query, stop.signal)
        .then((found) => {
          note.value = "";
          ground.settle(found);
        })
        .catch((cause: unknown) => {
          if (stop.signal.aborted) return;
          ground.ground.value = null;
          note.value = textOf(cause);
        });
    }, TYPING_MS);
    return () => {
      window.clearTimeout(wait);
      stop.abort();
    };
  }, [query]);
  useEffect(() => {
    if (on && canvas.current) draw(canvas.current, on);
  }, [on, ready]);
  if (!ready) return null;
  const at = on && ground.place.value && ground.cellAt(on, ground.place.value);
  const pinned = at ?? (settings.movesStart.value ? null : (on?.start ?? null));
  const choose = (event: MouseEvent): void => {
    if (!on) return;
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const along = (part: number, cells: number): number =>
      Math.max(0, Math.min(cells - 1e-6, part * cells));
    const column = along((event.clientX - box.left) / box.width, on.columns);
    const row = along((event.clientY - box.top) / box.height, on.rows);
    const point = ground.toMap(on, column, row);
    if (!isDrawing()) ground.choose(point);
    else if (event.detail < 2) corner(point); // the second click of a double one closes
  };
  return (
    <div class="preview stack">
      <div class={on?.query === query ? "preview-box" : "preview-box outdated"} hidden={!on}>
        <canvas
          ref={canvas}
          onClick={choose}
          onDblClick={() => on && isDrawing() && close(on)}
          role="img"
          aria-label="The terrain from above. Click to set the start, or give its row and column below."
        />
        {on && <AreaLines on={on} />}
        {on && <Targets on={on} />}
        {pinned && on && (
          <i
            class={at ? "pin" : "pin proposed"}
            style={{
              left: `${(100 * (pinned[1] + 0.5)) / on.columns}%`,
              top: `${(100 * (pinned[0] + 0.5)) / on.rows}%`,
            }}
          />
        )}
      </div>
      <p class="soft" aria-live="polite">
        {note.value || (on && `${cellsWord(on)} ${startWord(on, at, pinned)}`)}
      </p>
      {on && <p class="dark-cells soft">{darkWord(on)}</p>}
      {on && <AreaTools on={on} />}
      {on && (
        <div class="fields start">
          <Field
            label="Start row"
            value={ground.startRow}
            min={0}
            max={on.rows - 1}
            step={1}
            check={ground.wrongStart}
            hint="from 0 in the north; chosen for you if empty"
            onChange={ground.typed}
          />
          <Field
            label="Start column"
            value={ground.startColumn}
            min={0}
            max={on.columns - 1}
            step={1}
            check={ground.wrongStart}
            hint="from 0 in the west"
            onChange={ground.typed}
          />
          {at && (
            <button type="button" class="small" onClick={() => ground.forget()}>
              Choose it for me
            </button>
          )}
        </div>
      )}
    </div>
  );
}

/** The targets that are listed in the form, as stars. */
function Targets({ on }: { on: Ground }) {
  const read = settings.isPaper.value ? [] : targets(settings.places.value);
  return typeof read === "string" ? null : read.map(([x = 0, y = 0], i) => {
    if (!ground.cellAt(on, [x, y])) return null;
    const [column, row] = ground.toGrid(on, [x, y]);
    const at = { left: `${(100 * column) / on.columns}%`, top: `${(100 * row) / on.rows}%` };
    return (
      <svg key={i} class="mark-star" style={at} viewBox="-11 -11 22 22" aria-hidden="true">
        <path d={STAR} />
      </svg>
    );
  });
}

/** Return number and size of the run's cells. */
function cellsWord({ rows, columns, cell: [high, wide] }: Ground): string {
  const asked = Number(settings.cell.value);
  const is = `The run has ${columns} columns × ${rows} rows of cells, ${figure(wide)} × ${figure(high)} m each`;
  const near = !asked || [high, wide].every((side) => Math.abs(side - asked) <= 0.005 * asked);
  const file = settings.source.value === "upload" && !settings.part.value.trim() ? settings.file.value : null;
  const [tall, broad] = file?.shape ?? [0, 0];
  const [down, across] = file?.size ?? [1, 1];
  const left = [tall - rows * Math.round(high / down), broad - columns * Math.round(wide / across)];
  const edge = left.some((pixels) => pixels > 0) ? " What fills no cell at the south and east edge is left out." : "";
  return near
    ? `${is}.${edge}`
    : `${is}, not ${figure(asked)} m: a cell is a whole number of pixels.${edge}`;
}

/** Explain the dark cells; "" if there are none. */
function darkWord({ height }: Ground): string {
  let many = 0;
  for (const value of height.data) if (Number.isNaN(value)) many++;
  if (!many) return "";
  const cells = many === 1 ? "1 cell" : `${many.toLocaleString("en")} cells`;
  return `Dark: ${cells} that the vehicle never enters, without data, with an obstacle, or too steep to stand and turn.`;
}

function startWord({ columns }: Ground, at: [number, number] | null, pinned: [number, number] | null): string {
  const where = pinned ? cellName(pinned[0] * columns + pinned[1], columns) : "";
  if (at) return `The start is ${where}.`;
  const which = where ? `, ${where} (white ring)` : "";
  return (
    ground.lost.value ||
    `The start is chosen for you${which}: near the middle of the largest connected part. Click to set it.`
  );
}

function draw(canvas: HTMLCanvasElement, { rows, columns, cell, height }: Ground): void {
  // a sample of the cells is enough
  const every = Math.max(1, Math.ceil(Math.max(rows, columns) / MAX_SIDE));
  const [small, wide] = [Math.ceil(rows / every), Math.ceil(columns / every)];
  const taken = new Float32Array(small * wide);
  for (let y = 0; y < small; y++)
    for (let x = 0; x < wide; x++)
      taken[y * wide + x] = height.data[y * every * columns + x * every] ?? NaN;
  const { pixels } = paint(
    taken,
    null,
    { rows: small, columns: wide, cell: [cell[0] * every, cell[1] * every], marked: false, dark: false },
    { way: "relief", palette: "ground" },
    { low: height.min ?? 0, high: height.max ?? 1 },
  );
  canvas.width = wide;
  canvas.height = small;
  canvas.getContext("2d")?.putImageData(new ImageData(pixels, wide, small), 0, 0);
}
