// The polygons to stay inside, drawn on the preview and kept as text.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { tell } from "../../messages";
import { toGrid } from "./ground";
import type { Ground, Point } from "./ground";
import { polygons } from "./reading";
import { inside, keepsLevel } from "./settings";

/** The corners of the polygon that is being drawn, in map coordinates; null where none is. */
const corners = signal<Point[] | null>(null);

export function isDrawing(): boolean {
  return keepsLevel.value && corners.value !== null;
}

/** Add a corner. */
export function corner(point: Point): void {
  corners.value = [...(corners.value ?? []), point];
}

/** Close the polygon and write it down; corners are good to a hundredth of a cell. */
export function close(on: Ground): void {
  const ring = corners.value ?? [];
  if (ring.length < 3) {
    tell("A polygon needs three corners or more.");
    return;
  }
  const [a, , , d] = on.transform;
  const digits = Math.min(9, Math.max(0, Math.ceil(2 - Math.log10(Math.hypot(a, d)))));
  const written = ring.map((point) =>
    point.map((along) => Number(along.toFixed(digits))).join(","),
  );
  const before = inside.value.trimEnd();
  inside.value = `${before}${before && "\n"}${written.join(" ")}`;
  corners.value = null;
}

function cancel(): void {
  corners.value = null;
}

/** Enter closes, Backspace removes a corner, Escape cancels; text fields keep their keys. */
function onKey(event: KeyboardEvent, on: Ground): void {
  const target = event.target as Element;
  if (target.matches("input, textarea, select")) return;
  if (event.key === "Escape") cancel();
  else if (event.key === "Backspace") corners.value = (corners.value ?? []).slice(0, -1);
  else if (event.key === "Enter" && !target.matches("button, a, summary")) close(on);
  else return;
  event.preventDefault();
}

/** Shows the polygons over the ground. */
export function AreaLines({ on }: { on: Ground }) {
  if (!keepsLevel.value) return null;
  const read = polygons(inside.value);
  const rings = typeof read === "string" ? [] : (read as Point[][]);
  const drawn = corners.value ?? [];
  const line = (ring: Point[]): string =>
    ring.map((point) => toGrid(on, point).join(",")).join(" ");
  return (
    <svg
      class="area"
      viewBox={`0 0 ${on.columns} ${on.rows}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      {rings.map((ring, place) => (
        <polygon key={place} points={line(ring)} />
      ))}
      <polyline points={line(drawn)} />
      {drawn.map((point, place) => (
        <path key={place} d={`M${toGrid(on, point).join(" ")}h0`} />
      ))}
    </svg>
  );
}

/** Begins, closes and puts away a polygon, and says how. */
export function AreaTools({ on }: { on: Ground }) {
  const drawing = isDrawing();
  useEffect(() => {
    if (!drawing) return undefined;
    const listen = (event: KeyboardEvent): void => onKey(event, on);
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, [drawing, on]);
  useEffect(() => cancel, []); // a polygon that was begun is not gone on with elsewhere
  if (!keepsLevel.value) return null;
  const read = polygons(inside.value);
  const many = typeof read === "string" ? 0 : read.length;
  const count = corners.value?.length ?? 0;
  return (
    <div class="area-tools row">
      {drawing ? (
        <>
          <button type="button" class="small" disabled={count < 3} onClick={() => close(on)}>
            Close the polygon
          </button>
          <button type="button" class="small" onClick={cancel}>
            Cancel
          </button>
        </>
      ) : (
        <button type="button" class="small" onClick={() => (corners.value = [])}>
          Draw a polygon to stay inside
        </button>
      )}
      <span class="soft" aria-live="polite">
        {drawing
          ? `Click its corners (${count} so far). Enter or a double click closes it, Backspace removes a corner, Escape cancels.`
          : many > 0 &&
            `The explorer stays inside ${many === 1 ? "1 polygon" : `${many} polygons`}; the corners are listed under “More criteria”.`}
      </span>
    </div>
  );
}
