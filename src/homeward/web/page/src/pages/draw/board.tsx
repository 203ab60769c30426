// The board that is painted on, and what it is painted with.

import { signal, useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { HEIGHTS, css, surroundings } from "../../map/colours";
import type { Rgb } from "../../map/colours";
import { drawing, last, paint } from "./drawing";
import type { Tool } from "./drawing";

const tool = signal<Tool>("5");

const TOOLS: [Tool, string, string][] = [
  ["1", "1", "Height 1"],
  ["2", "2", "Height 2"],
  ["3", "3", "Height 3"],
  ["4", "4", "Height 4"],
  ["5", "5", "Height 5"],
  ["#", "wall", "Wall"],
  ["start", "start", "Start"],
];

export function Tools({ onUndo }: { onUndo: () => void }) {
  return (
    <div class="tools row">
      <div class="tools row" role="radiogroup" aria-label="What to paint">
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
      <button
        aria-keyshortcuts="Control+Z"
        title={last.value ? `Undo ${last.value} (Ctrl+Z)` : "Nothing to undo"}
        disabled={last.value === null}
        onClick={onUndo}
      >
        Undo
      </button>
    </div>
  );
}

function colourOf(square: string): Rgb {
  return square === "#" ? surroundings(false).wall : (HEIGHTS[Number(square) - 1] as Rgb);
}

export function Board() {
  const chosen = useSignal<[number, number]>([0, 0]);
  const box = useRef<HTMLDivElement>(null);
  const stroke = useRef<"none" | "begun" | "drawn">("none");
  const { rows, start } = drawing.value;
  const end: [number, number] = [rows.length - 1, (rows[0]?.length ?? 1) - 1];
  // a board that was cut still has a square that the keyboard comes to
  const at = [Math.min(chosen.value[0], end[0]), Math.min(chosen.value[1], end[1])] as const;
  const focus = (row: number, column: number): void => {
    chosen.value = [row, column];
    box.current?.querySelector<HTMLElement>(`[data-square="${row},${column}"]`)?.focus();
  };
  const onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const [row, column] = at;
    if (event.key === "ArrowUp") focus(Math.max(0, row - 1), column);
    else if (event.key === "ArrowDown") focus(Math.min(end[0], row + 1), column);
    else if (event.key === "ArrowLeft") focus(row, Math.max(0, column - 1));
    else if (event.key === "ArrowRight") focus(row, Math.min(end[1], column + 1));
    else if (/^[1-5#]$/.test(event.key)) paint(row, column, event.key as Tool);
    else if (event.key === "s") paint(row, column, "start");
    else if (event.key === "Enter" || event.key === " ") paint(row, column, tool.value);
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
    if (!square || stroke.current === "none") return;
    if (paint(...square, tool.value, stroke.current === "drawn")) stroke.current = "drawn";
    chosen.value = square;
  };
  const lift = (): void => void (stroke.current = "none");
  return (
    <div
      ref={box}
      class="board"
      role="grid"
      aria-label="The world"
      style={{ "--columns": String(rows[0]?.length ?? 1), "--rows": String(rows.length) }}
      onKeyDown={onKey}
      onPointerDown={(event) => {
        if (event.button !== 0) return;
        stroke.current = "begun";
        brush(event);
      }}
      onPointerMove={brush}
      onPointerUp={lift}
      onPointerLeave={lift}
      onPointerCancel={lift}
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
                tabIndex={at[0] === r && at[1] === c ? 0 : -1}
                aria-label={`row ${r}, column ${c}: ${square === "#" ? "wall" : `height ${square}`}${isStart ? ", start" : ""}`}
                onFocus={() => (chosen.value = [r, c])}
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
