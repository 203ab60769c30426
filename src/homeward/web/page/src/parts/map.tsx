// A map with its layers, the values under the pointer, zoom and legend.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Details } from "../api";
import { MapCanvas, between } from "../map/canvas";
import { attempt, tell } from "../messages";
import { MAX_CELLS_ALL_LAYERS } from "../run/scene";
import type { Scene } from "../run/scene";
import { layerOf, selectLayer } from "../run/show";
import type { Show } from "../run/show";
import { MIN_SUCCESS, blockedWord, cellName, endWord, groundNotes, isDriven, layerName, minus, reading } from "../words";
import { IconButton } from "./icons";
import { Legend } from "./legend";
import { savePicture } from "./picture";
import { pursuitWord } from "./why";

/** The layers that are in sight at first; the others are under "More". */
const MAIN_LAYERS = ["height", "v", "uncertainty", "slope"];

export function LayerPicker({ details, show }: { details: Details; show: Show }) {
  const base = layerOf(details, show.layer.value);
  const others = details.layers.filter((layer) => layer.name !== base?.name);
  const open = useSignal(false);
  const [main, rest] = [
    MAIN_LAYERS.flatMap((name) => details.layers.find((layer) => layer.name === name) ?? []),
    details.layers.filter((layer) => !MAIN_LAYERS.includes(layer.name)),
  ];
  const unfolded = open.value || rest.some((layer) => layer.name === base?.name);
  return (
    <div class="layers row">
      <div class="segments" role="group" aria-label="Layer of the map">
        {[...main, ...(unfolded ? rest : [])].map((layer) => (
          <button
            key={layer.name}
            data-layer={layer.name}
            aria-pressed={layer.name === base?.name}
            title={`${layer.title} (key ${details.layers.indexOf(layer) + 1})`}
            onClick={() => selectLayer(show, layer.name)}
          >
            {layerName(layer)}
          </button>
        ))}
        {rest.length > 0 && (
          <button
            class="more"
            aria-expanded={unfolded}
            onClick={() => (open.value = !unfolded)}
          >
            {unfolded ? "Less" : "More"}
          </button>
        )}
      </div>
      <div class="blend row fine">
        <label class="row soft">
          <span>Overlay</span>
          <select
            value={show.over.value ?? ""}
            onChange={(event) => (show.over.value = event.currentTarget.value || null)}
          >
            <option value="">none</option>
            {others.map((layer) => (
              <option key={layer.name} value={layer.name}>
                {layerName(layer)}
              </option>
            ))}
          </select>
        </label>
        {show.over.value && (
          <input
            type="range"
            min={0}
            max={1}
            step={0.05}
            value={show.mix.value}
            aria-label="Opacity of the overlay"
            onInput={(event) => (show.mix.value = Number(event.currentTarget.value))}
          />
        )}
      </div>
    </div>
  );
}

interface Pane {
  scene: Scene;
  label: string;
  dated?: boolean; // whether it says which moment it shows, as one of two
}

export function MapPane({ scene, label, dated }: Pane) {
  const details = scene.run.details.value;
  if (!details) return <div class="map empty">{scene.run.missing.value || "Loading the run…"}</div>;
  return <MapFigure scene={scene} details={details} label={label} dated={dated ?? false} />;
}

const ZOOMS = [
  ["plus", "Zoom in", "+", "in", (map: MapCanvas) => map.zoom(1.5)],
  ["less", "Zoom out", "−", "out", (map: MapCanvas) => map.zoom(1 / 1.5)],
  ["fit", "Show the whole map", "0", "fit", (map: MapCanvas) => map.fit()],
] as const;

const ARROWS: Record<string, [number, number]> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

function MapFigure({ scene, details, label, dated }: Pane & { details: Details }) {
  const element = useRef<HTMLCanvasElement>(null);
  const map = useRef<MapCanvas | null>(null);
  const spoken = useSignal<number | null>(null); // the cell to announce, once its values are known
  useEffect(() => {
    if (!element.current) return undefined;
    const made = new MapCanvas(element.current, scene);
    map.current = made;
    return () => made.close();
  }, [scene]);

  const pictures = scene.pictures.value;
  const columns = details.shape?.[1] ?? 1;
  const [dy, dx] = details.cell ?? [1, 1];
  const aspect = details.shape ? (columns * dx) / (details.shape[0] * dy) : 2;

  const onKey = (event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = ARROWS[event.key];
    if (arrow && event.shiftKey) map.current?.pan(-arrow[1] * 60, -arrow[0] * 60);
    else if (arrow && details.shape) {
      const from = scene.hover.value ?? scene.here.value ?? 0;
      const row = between(0, Math.floor(from / columns) + arrow[0], details.shape[0] - 1);
      const column = between(0, (from % columns) + arrow[1], columns - 1);
      const cell = row * columns + column;
      scene.hover.value = cell;
      map.current?.reveal(cell);
      spoken.value = cell;
    } else if (event.key === "Enter") scene.selected.value = scene.hover.value ?? scene.here.value;
    else if (event.key === "Escape") scene.selected.value = scene.hover.value = null;
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const save = async (): Promise<void> => {
    const canvas = element.current;
    if (!canvas || !pictures) return;
    const shown = [pictures.base, pictures.over];
    const name = await attempt(() => savePicture(canvas, details, shown, scene.step.value));
    if (name) tell(`Saved ${name}.`);
  };

  return (
    <figure class="map">
      {dated && <Moment scene={scene} />}
      <div class="map-box" style={{ "--aspect": String(aspect) }}>
        <canvas
          ref={element}
          tabIndex={0}
          role="application"
          aria-label={`Map of ${label}. Arrow keys select a cell, Enter shows its way home, plus and minus zoom.`}
          onKeyDown={onKey}
          onBlur={() => (scene.hover.value = null)}
        />
        {!details.shape && (
          <p class="map-note">{details.error ?? "This kind of run has no map."}</p>
        )}
        {details.shape && !pictures && (
          <p class="map-note">{scene.noPicture.value || "Drawing the map…"}</p>
        )}
        <p class="map-notes">{pictures && <Working scene={scene} details={details} />}</p>
        <Readout scene={scene} details={details} columns={columns} />
        <span class="hidden" aria-live="polite">
          {spoken.value === scene.read.value &&
            spoken.value !== null &&
            `${cellName(spoken.value, columns)}: ${spokenValues(details, scene.values.value)}. ${
              details.targets.includes(spoken.value) ? targetWord(scene, spoken.value) : ""
            }`}
        </span>
      </div>
      {!dated && <Pursuit scene={scene} columns={columns} />}
      <figcaption class="row">
        <LegendRoom details={details} over={scene.show.over.value}>
          {pictures && <Legend details={details} shown={[pictures.base, pictures.over]} />}
        </LegendRoom>
        <div class="map-tools" role="group" aria-label="View">
          {ZOOMS.map(([icon, label, key, zoom, look]) => (
            <IconButton
              key={zoom}
              icon={icon}
              label={label}
              title={`${label} (${key})`}
              data-zoom={zoom}
              onClick={() => map.current && look(map.current)}
            />
          ))}
          <IconButton icon="save" label="Save a picture of this view" onClick={save} />
          <IconButton icon="link" label="Copy a link to this view" onClick={copyLink} />
        </div>
      </figcaption>
    </figure>
  );
}

/** What the explorer heads for, and what it refuses, in a sentence. */
function Pursuit({ scene, columns }: { scene: Scene; columns: number }) {
  const why = scene.why.value;
  if (!why || why.step !== scene.step.value) return <div class="pursuit-room" />;
  const refused = why.actions.filter(({ verdict, leaves }) => verdict === "unsafe" && leaves >= MIN_SUCCESS);
  const details = scene.run.details.value;
  const ended = why.action !== null && details?.status === "finished" && why.step >= scene.run.count.value;
  const said = ended ? endWord(details) : pursuitWord(why, columns);
  if (!said) return <div class="pursuit-room" />;
  return (
    <div class="pursuit-room">
      <p class="pursuit fine" aria-live="off">
        {said}
        {refused.length > 0 && !ended && (
          <span class="bad">
            {" "}
            It refuses {refused.map(({ name }) => name).join(", ")}: too little way home.
          </span>
        )}
      </p>
    </div>
  );
}

/** Return the middle of a cell in map coordinates. */
function coordinates(
  { cell: size }: Details,
  [a = 1, b = 0, c = 0, d = 0, e = 1, f = 0]: readonly number[],
  cell: number,
  columns: number,
): string {
  const [column, row] = [(cell % columns) + 0.5, Math.floor(cell / columns) + 0.5];
  const digits = Math.abs(a) < 0.01 ? 6 : 1;
  const width = size?.[1] ?? 0; // in m: the same on the map if its unit is the metre
  const unit = Math.abs(Math.hypot(a, d) - width) <= 1e-3 * width ? "\u00a0m" : "";
  const [x, y] = [a * column + b * row + c, d * column + e * row + f].map((along) => minus(along.toFixed(digits)));
  return `x ${x}${unit}, y ${y}${unit}`;
}

async function copyLink(): Promise<void> {
  const done = await attempt(() => navigator.clipboard.writeText(location.href));
  if (done !== null) tell("The link is copied. It opens in browsers that have opened the address of this server with its token.");
}

function spokenValues(details: Details, values: Record<string, number>): string {
  const blocked = blockedWord(details, values);
  if (blocked) return blocked;
  return Object.entries(values)
    .map(
      ([name, value]) =>
        `${layerOf(details, name)?.title ?? name} ${reading(details, name, value)}`,
    )
    .join(", ");
}

/** Reserves the height of the tallest legend, so that the map keeps its size between layers. */
function LegendRoom(props: { details: Details; over: string | null; children: ComponentChildren }) {
  const { details, over, children } = props;
  const room = useMemo(() => {
    const range = { low: 1, high: 10 }; // any will do: all scales are as tall
    const second = details.layers.some((layer) => layer.name === over);
    return details.layers.map(({ name }) => (
      <div class="unseen" aria-hidden="true" key={name}>
        <Legend
          details={details}
          shown={[{ layer: name, range }, second && over ? { layer: over, range } : null]}
        />
      </div>
    ));
  }, [details.layers, over]);
  return (
    <div class="legend-room">
      <div>{children}</div>
      {room}
    </div>
  );
}

/** The step on view, which is not the cursor's if the run is shorter than the one beside it. */
function Moment({ scene }: { scene: Scene }) {
  const step = scene.step.value;
  const steps = step === 1 ? "1 step" : `${step} steps`;
  const beyond = scene.cursor.step.value > step;
  const word = !beyond ? "after" : scene.run.going.value ? "so far" : "ended after";
  return (
    <p class={beyond ? "moment fine ended-before" : "moment fine"}>
      {word} {steps}
    </p>
  );
}

/** A note while the selected step or layer is not on view yet, or why it can't be shown. */
function Working({ scene, details }: { scene: Scene; details: Details }) {
  const shown = scene.pictures.value;
  const wanted = layerOf(details, scene.show.layer.value)?.name;
  if (shown?.step === scene.step.value && shown.base.layer === wanted) return null;
  if (shown && scene.noPicture.value) {
    const which = shown.step === scene.step.value ? "this layer" : "this step";
    return (
      <span class="map-said fine">
        {scene.run.gone.value
          ? `The run was deleted before ${which} was loaded; the colours are those after ${shown.step} steps.`
          : `${scene.noPicture.value} The colours are those after ${shown.step} steps.`}
      </span>
    );
  }
  return <span class="map-said fine working">Computing…</span>;
}

/** Return whether a target is reached at this moment, and when. */
function targetWord({ run, step }: Scene, cell: number): string {
  const at = run.reached.value.get(cell) ?? Infinity;
  return at > step.value ? "A target, not reached." : at ? `A target, reached at step ${at}.` : "A target, at the start.";
}

/** The values of the cell under the pointer. */
function Readout({ scene, details, columns }: { scene: Scene; details: Details; columns: number }) {
  if (scene.hover.value === null) return null;
  const cell = scene.read.value ?? scene.hover.value; // the last one, until the next is read
  const values = scene.values.value;
  const large = details.shape !== null && details.shape[0] * details.shape[1] > MAX_CELLS_ALL_LAYERS;
  const blocked = blockedWord(details, values);
  const rest = large && details.layers.some((layer) => !(layer.name in values));
  return (
    <div class={cell % columns < columns / 2 ? "readout fine right-hand" : "readout fine"} data-cell={cell}>
      <b>{cellName(cell, columns)}</b>
      {details.transform && (
        <span class="block soft coordinates" title={details.crs ?? ""}>
          {isDriven(details) && "centre "}
          {coordinates(details, details.transform, cell, columns)}
        </span>
      )}
      <dl>
        {details.layers
          .filter((layer) => layer.name in values)
          .map((layer) => (
            <div key={layer.name}>
              <dt class="soft">{layerName(layer)}</dt>
              <dd data-layer={layer.name} data-value={String(values[layer.name])}>
                {reading(details, layer.name, values[layer.name] as number)}
              </dd>
            </div>
          ))}
      </dl>
      {details.targets.includes(cell) && <p>{targetWord(scene, cell)}</p>}
      {blocked && <p class="blocked">{blocked}</p>}
      {!blocked && groundNotes(details).map((note) => <p class="note soft" key={note}>{note}</p>)}
      {rest && <p class="soft">Other layers are listed after they were shown.</p>}
    </div>
  );
}
