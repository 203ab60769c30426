// A new run: a world, an explorer, and what must stay true.

import { computed, signal, useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { change as post, getBytes, getJson, upload } from "../api";
import type { About, Summary, Upload } from "../api";
import { decode } from "../frames";
import { to } from "../link";
import { paint } from "../map/paint";
import { attempt, complain } from "../messages";
import { LevelSlider } from "../parts/level";
import { cellName, figure } from "../words";

type Kind = "grid" | "rover";
type Source = "mars" | "sample" | "upload";

const kind = signal<Kind>("grid");
const name = signal("");
const level = signal(0.95);
const explorer = signal("safe");
const beside = signal(true);
const home = signal<"current" | "start" | "bases">("current");
const bases = signal("");
const each = signal(false);
const within = signal("");
const withinLevel = signal("");
const insideRows = signal("");
const insideColumns = signal("");
const inside = signal("");
const insideLevel = signal("");
const recall = signal("");
const budget = signal("");
const seed = signal("0");
const limit = signal("");

const size = signal("12");
const walls = signal("0.2");

const source = signal<Source>("mars");
const file = signal<Upload | null>(null);
const pixel = signal("");
const landSeed = signal("0");
const rows = signal("1000");
const columns = signal("2000");
const cell = signal("20");
const part = signal("");
const climb = signal("5");
const descend = signal("45");
const range = signal("100");
const start = signal<[number, number] | null>(null);
const truth = signal<"model" | "prior">("model");

const keepsLevel = computed(() => explorer.value === "safe" || explorer.value === "naive");

function number(text: string): number | null {
  return text.trim() === "" ? null : Number(text);
}

function given(entries: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(entries).filter(([, value]) => value !== null && value !== ""),
  );
}

/** Give what a terrain is made of, as a configuration's keys. */
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
  });
}

/** Read pairs of numbers, parted by `between`; what is none goes to the server, which says why not. */
function pairs(text: string, between: RegExp): number[][] | string | null {
  if (!text.trim()) return null;
  const found = text
    .split(between)
    .filter((each) => each.trim())
    .map((each) => each.split(/[,:–]/).map((part) => (part.trim() ? Number(part) : NaN)));
  return found.every((pair) => pair.length === 2 && pair.every(Number.isFinite)) ? found : text;
}

/** Give the squares to stay inside: the first and the last row, and so for columns. */
function windowGiven(): unknown {
  if (!insideRows.value.trim() && !insideColumns.value.trim()) return null;
  const last = Number(size.value) - 1;
  return [insideRows, insideColumns].map((side) => {
    const found = pairs(side.value, /;/);
    return found === null ? [0, last] : typeof found === "string" ? found : found[0];
  });
}

/** Give the polygons to stay inside: one a line, its ring closed. */
function polygonsGiven(): unknown {
  const lines = inside.value.split("\n").filter((line) => line.trim());
  if (!lines.length) return null;
  const rings = lines.map((line) => pairs(line.trim(), /[\s;]+/));
  if (rings.some((ring) => typeof ring === "string" || ring === null)) return inside.value;
  return (rings as number[][][]).map((ring) => {
    const [first, last] = [ring[0], ring[ring.length - 1]];
    return [String(first) === String(last) ? ring : [...ring, first]];
  });
}

/** Give what must stay true, as a configuration's keys. */
function promises(): Record<string, unknown> {
  const shared = { recall: number(recall.value) };
  if (!keepsLevel.value) return { ...shared, home: home.value === "start" ? "start" : "current" };
  const named = home.value === "bases";
  const area = kind.value === "grid" ? windowGiven() : polygonsGiven();
  const whole = home.value === "start" ? number(budget.value) : null;
  return {
    ...shared,
    delta: whole === null ? level.value : null,
    home: named ? null : home.value,
    bases: named ? pairs(bases.value, /[;\s]+/) : null,
    each_base: named && each.value ? true : null,
    back_within: number(within.value),
    back_within_delta: within.value.trim() ? number(withinLevel.value) : null,
    keep_in: area,
    keep_in_delta: area === null ? null : number(insideLevel.value),
    budget: whole,
  };
}

function config(): Record<string, unknown> {
  const shared = {
    seed: number(seed.value),
    explorer: explorer.value,
    ...promises(),
    limit: number(limit.value),
  };
  if (kind.value === "grid")
    return given({ ...shared, size: number(size.value), walls: number(walls.value) });
  return given({
    ...shared,
    ...land(),
    climb: number(climb.value),
    descend: number(descend.value),
    sensor_range: number(range.value),
    start: start.value,
    truth: truth.value,
  });
}

async function begin(): Promise<void> {
  if (kind.value === "rover" && source.value === "upload" && !file.value) {
    complain("Choose a terrain file first.");
    return;
  }
  if (keepsLevel.value && home.value === "bases" && !bases.value.trim()) {
    complain("Say where the bases are, as row,column.");
    return;
  }
  const slug = name.value
    .trim()
    .replace(/[^A-Za-z0-9._-]+/g, "-")
    .replace(/^[.-]+/, "");
  const body = { kind: kind.value, config: config(), ...(slug ? { name: slug } : {}) };
  if (explorer.value === "safe" && beside.value) {
    const pair = await attempt(() =>
      post<{ safe: Summary; unsafe: Summary }>("POST", "/api/pairs", body),
    );
    if (pair) location.hash = to("compare", pair.safe.id, pair.unsafe.id);
  } else {
    const run = await attempt(() => post<Summary>("POST", "/api/runs", body));
    if (run) location.hash = to("run", run.id);
  }
}

export function NewPage() {
  const busy = useSignal(false);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    busy.value = true;
    await begin();
    busy.value = false;
  };
  return (
    <main class="form-page" id="main">
      <h1>New run</h1>
      <form onSubmit={(event) => void submit(event)}>
        <fieldset class="card">
          <legend>World</legend>
          <Choice
            label="Kind of world"
            value={kind}
            options={[
              [
                "grid",
                "Grid world",
                "Squares of height 1 to 5; one sees the neighbours of where one stands.",
              ],
              ["rover", "Terrain", "A rover on an elevation model, which measures what is near."],
            ]}
            onChange={() => (explorer.value = "safe")}
          />
          {kind.value === "grid" ? <GridFields /> : <TerrainFields />}
        </fieldset>
        <fieldset class="card">
          <legend>Explorer</legend>
          <Choice
            label="Explorer"
            value={explorer}
            options={
              kind.value === "grid"
                ? [
                    ["safe", "Safe", "Keeps a way home."],
                    ["uncover", "Unsafe", "Goes where most is to be uncovered."],
                    ["rmax", "R-max", "Goes where it has not been."],
                    ["near-bayesian", "Near-Bayesian", "Trusts its belief more with each visit."],
                  ]
                : [
                    ["safe", "Safe", "Keeps a way home."],
                    ["unsafe", "Unsafe", "Goes where most is to be learned."],
                    ["naive", "Naive", "Plans on the mean model as if it were true."],
                  ]
            }
          />
          {explorer.value === "safe" && (
            <label class="check">
              <input
                type="checkbox"
                checked={beside.value}
                onChange={(event) => (beside.value = event.currentTarget.checked)}
              />
              Let the unsafe explorer loose in the same world, and compare the two
            </label>
          )}
        </fieldset>
        {keepsLevel.value && <Promises />}
        <details class="card">
          <summary>More settings</summary>
          <div class="fields">
            <Field
              label="Name"
              value={name}
              type="text"
              hint="letters and digits; found for you if empty"
            />
            <Field
              label="Seed"
              value={seed}
              min={0}
              step={1}
              hint="the same seed gives the same run"
            />
            <Field
              label="Steps at most"
              value={limit}
              min={0}
              step={1}
              hint={kind.value === "grid" ? "20 a square if empty" : "2000 if empty"}
            />
            {kind.value === "rover" && (
              <Field
                label="Part of the terrain"
                value={part}
                type="text"
                hint="column,row,width,height in pixels"
              />
            )}
            {kind.value === "rover" && (
              <label class="field">
                <span>True heights</span>
                <select
                  value={truth.value}
                  onChange={(event) =>
                    (truth.value = event.currentTarget.value as "model" | "prior")
                  }
                >
                  <option value="model">the terrain model, with its error</option>
                  <option value="prior">drawn from the belief</option>
                </select>
              </label>
            )}
          </div>
        </details>
        <p class="submit">
          <button class="main" type="submit" disabled={busy.value}>
            {busy.value ? "Starting…" : "Start and watch"}
          </button>
        </p>
      </form>
    </main>
  );
}

/** What must stay true: a way home, and what else is asked for. */
function Promises() {
  return (
    <fieldset class="card">
      <legend>What must stay true</legend>
      <LevelSlider
        level={level}
        home={home.value}
        budget={home.value === "start" ? budget.value : ""}
        naive={explorer.value === "naive"}
      />
      <Choice
        label="There is a way home. Home is"
        value={home}
        options={[
          ["current", "Where it stands", "Set anew at each step, as in the paper."],
          ["start", "The start", "One base for the whole run."],
          ["bases", "Bases", "Any of the cells that you give, or each of them."],
        ]}
      />
      {home.value === "bases" && (
        <>
          <div class="fields">
            <Field
              label="Where they are"
              value={bases}
              type="text"
              hint="row,column of each, counted from 0; as 3,4 7,0"
            />
          </div>
          <label class="check">
            <input
              type="checkbox"
              checked={each.value}
              onChange={(event) => (each.value = event.currentTarget.checked)}
            />
            There must be a way to each of them, not only to one
          </label>
        </>
      )}
      {home.value === "start" && (
        <div class="fields">
          <Field
            label="Budget of the whole run"
            value={budget}
            min={0}
            max={1}
            step="any"
            hint="whenever it is called off, it comes home with this chance over the whole run; it takes the place of δ; none if empty"
          />
        </div>
      )}
      <details class="more">
        <summary>More that must stay true</summary>
        <div class="fields">
          <Field
            label="Home within"
            unit="steps"
            value={within}
            min={1}
            step={1}
            hint="of the call; any number if empty"
          />
          {within.value.trim() !== "" && (
            <Field
              label="with the chance"
              value={withinLevel}
              min={0}
              max={1}
              step="any"
              hint="δ if empty"
            />
          )}
          <Field
            label="Called off after"
            unit="steps"
            value={recall}
            min={1}
            step={1}
            hint="of each plan; at any step if empty"
          />
        </div>
        {kind.value === "grid" ? (
          <div class="fields">
            <Field
              label="Stay inside rows"
              value={insideRows}
              type="text"
              hint="first:last, counted from 0; all if empty"
            />
            <Field
              label="and columns"
              value={insideColumns}
              type="text"
              hint="first:last, counted from 0; all if empty"
            />
          </div>
        ) : (
          <label class="field">
            <span>Stay inside polygons</span>
            <textarea
              rows={3}
              value={inside.value}
              onInput={(event) => (inside.value = event.currentTarget.value)}
            />
            <span class="soft">
              corners x,y in m, in the map’s coordinates; one polygon a line, as 0,0 400,0 400,300
            </span>
          </label>
        )}
        {(inside.value + insideRows.value + insideColumns.value).trim() !== "" && (
          <div class="fields">
            <Field
              label="Stay inside with the chance"
              value={insideLevel}
              min={0}
              max={1}
              step="any"
              hint="δ if empty"
            />
          </div>
        )}
      </details>
    </fieldset>
  );
}

function GridFields() {
  return (
    <div class="fields">
      <Field label="Squares along a side" value={size} min={2} max={200} step={1} />
      <Field label="Fraction of walls" value={walls} min={0} max={1} step={0.05} />
    </div>
  );
}

function TerrainFields() {
  return (
    <>
      <Choice
        label="Terrain"
        value={source}
        options={[
          ["mars", "Synthetic Mars", "Cratered ground, from a seed."],
          ["sample", "Sample", "Real ground that Matplotlib carries."],
          ["upload", "Your file", "GeoTIFF, HiRISE .IMG, ASCII grid, …"],
        ]}
        onChange={() => (start.value = null)}
      />
      {source.value === "upload" && <Uploader />}
      <div class="fields">
        {source.value === "mars" && (
          <>
            <Field
              label="Seed of the ground"
              value={landSeed}
              min={0}
              step={1}
              onChange={() => (start.value = null)}
            />
            <Field label="From north to south" unit="m" value={rows} min={20} step={1} />
            <Field label="From west to east" unit="m" value={columns} min={20} step={1} />
          </>
        )}
        <Field label="Side of a cell" unit="m" value={cell} min={0.01} step="any" />
      </div>
      <h3>Vehicle</h3>
      <div class="fields">
        <Field label="Climbs at most" unit="°" value={climb} min={0} max={89} step="any" />
        <Field label="Descends at most" unit="°" value={descend} min={0} max={89} step="any" />
        <Field
          label="Sees as far as"
          unit="m"
          value={range}
          min={0}
          step="any"
          hint="the whole map if empty"
        />
      </div>
      <Preview />
    </>
  );
}

/** Shows the ground that is chosen; a click sets the start. */
function Preview() {
  const canvas = useRef<HTMLCanvasElement>(null);
  const shape = useSignal<[number, number] | null>(null);
  const note = useSignal("");
  const ready = source.value !== "upload" || file.value !== null;
  const query = ready
    ? new URLSearchParams(
        Object.entries(land()).map(([key, value]) => [key, String(value)]),
      ).toString()
    : "";
  useEffect(() => {
    if (!query) return undefined;
    const stop = new AbortController();
    const wait = window.setTimeout(() => {
      note.value = "Reading the ground…";
      getBytes(`/api/terrain/preview?${query}`, stop.signal)
        .then((buffer) => {
          const height = decode(buffer).arrays.get("height");
          const [r, c] = height?.shape ?? [];
          if (!height || r === undefined || c === undefined || !canvas.current) return;
          shape.value = [r, c];
          note.value = "";
          draw(canvas.current, height.data, r, c, height.min ?? 0, height.max ?? 1);
        })
        .catch((cause: unknown) => {
          if (stop.signal.aborted) return;
          shape.value = null;
          note.value = cause instanceof Error ? cause.message : String(cause);
        });
    }, 350);
    return () => {
      window.clearTimeout(wait);
      stop.abort();
    };
  }, [query]);
  if (!ready) return null;
  const at = start.value;
  const grid = shape.value;
  const choose = (event: MouseEvent): void => {
    if (!grid) return;
    const box = (event.currentTarget as HTMLElement).getBoundingClientRect();
    const row = Math.floor(((event.clientY - box.top) / box.height) * grid[0]);
    const column = Math.floor(((event.clientX - box.left) / box.width) * grid[1]);
    start.value = [
      Math.max(0, Math.min(grid[0] - 1, row)),
      Math.max(0, Math.min(grid[1] - 1, column)),
    ];
  };
  return (
    <div class="preview">
      <div class="preview-box" hidden={!grid}>
        <canvas
          ref={canvas}
          onClick={choose}
          role="img"
          aria-label="The ground seen from above. Click to set the start, or give row and column below."
        />
        {at && grid && (
          <i
            class="pin"
            style={{
              left: `${(100 * (at[1] + 0.5)) / grid[1]}%`,
              top: `${(100 * (at[0] + 0.5)) / grid[0]}%`,
            }}
          />
        )}
      </div>
      <p class="soft" aria-live="polite">
        {note.value ||
          (grid &&
            `${grid[0]} × ${grid[1]} cells. ${at ? `The start is ${cellName(at[0] * grid[1] + at[1], grid[1])}.` : "The start is found for you: in the largest part where one can get about, near the middle. Click to set it."}`)}
        {at && (
          <>
            {" "}
            <button type="button" class="small" onClick={() => (start.value = null)}>
              Find it for me
            </button>
          </>
        )}
      </p>
    </div>
  );
}

function draw(
  canvas: HTMLCanvasElement,
  data: Parameters<typeof paint>[0],
  r: number,
  c: number,
  low: number,
  high: number,
): void {
  const every = Math.max(1, Math.ceil(Math.max(r, c) / 600)); // the preview is small: every so many cells will do
  const [small, wide] = [Math.ceil(r / every), Math.ceil(c / every)];
  const taken = new Float32Array(small * wide);
  for (let y = 0; y < small; y++)
    for (let x = 0; x < wide; x++) taken[y * wide + x] = data[y * every * c + x * every] ?? NaN;
  const ground = {
    rows: small,
    columns: wide,
    cell: [Number(cell.value) * every, Number(cell.value) * every] as [number, number],
    marked: false,
  };
  const { pixels } = paint(
    taken,
    null,
    ground,
    { way: "relief", palette: "ground" },
    { low, high },
  );
  canvas.width = wide;
  canvas.height = small;
  canvas.getContext("2d")?.putImageData(new ImageData(pixels, wide, small), 0, 0);
}

function Uploader() {
  const progress = useSignal<number | null>(null);
  const over = useSignal(false);
  const stop = useRef<(() => void) | null>(null);
  const send = async (chosen: File | undefined): Promise<void> => {
    if (!chosen) return;
    file.value = null;
    start.value = null;
    const about = await attempt(() => getJson<About>("/api/about"));
    if (!about) return;
    if (chosen.size > about.limits.uploads) {
      complain(
        `${chosen.name} has ${figure(chosen.size / 1e6, 3)} MB; at most ${figure(about.limits.uploads / 1e6, 3)} MB are taken.`,
      );
      return;
    }
    progress.value = 0;
    const sending = upload(chosen, number(pixel.value), (part) => (progress.value = part));
    stop.current = sending.stop;
    const done = await attempt(() => sending.done);
    progress.value = null;
    if (!done) return;
    file.value = done;
    const side = Math.max(...done.size);
    // about a hundred cells across, but no finer than the pixels
    cell.value = String(
      Number(Math.max(side, (side * Math.max(...done.shape)) / 100).toPrecision(3)),
    );
    if (range.value === "100") range.value = String(5 * Number(cell.value));
  };
  return (
    <div
      class={over.value ? "drop over" : "drop"}
      onDragOver={(event) => {
        event.preventDefault();
        over.value = true;
      }}
      onDragLeave={() => (over.value = false)}
      onDrop={(event) => {
        event.preventDefault();
        over.value = false;
        void send(event.dataTransfer?.files[0]);
      }}
    >
      <label>
        <span>Drop an elevation model here, or choose it: </span>
        <input type="file" onChange={(event) => void send(event.currentTarget.files?.[0])} />
      </label>
      <div class="fields">
        <Field
          label="Side of a pixel"
          unit="m"
          value={pixel}
          min={0}
          step="any"
          hint="only for files that have none, such as .npy"
        />
      </div>
      {progress.value !== null && (
        <p>
          <progress max={1} value={progress.value} aria-label="Upload" />{" "}
          {progress.value < 1 ? `${Math.round(100 * progress.value)} %` : "Reading it…"}{" "}
          <button type="button" class="small" onClick={() => stop.current?.()}>
            Stop
          </button>
        </p>
      )}
      {file.value && (
        <p class="soft" data-upload={file.value.upload}>
          {file.value.name}: {file.value.shape[0]} × {file.value.shape[1]} pixels of{" "}
          {sizeWord(file.value)}
          {file.value.crs ? `, ${String(file.value.crs).slice(0, 60)}` : ""}.
        </p>
      )}
    </div>
  );
}

function sizeWord({ size: [high, wide] }: Upload): string {
  return `${figure(high, 3)} × ${figure(wide, 3)} m`;
}

interface FieldProps {
  label: string;
  value: Signal<string>;
  type?: "number" | "text";
  unit?: string;
  hint?: string;
  min?: number | undefined;
  max?: number | undefined;
  step?: number | "any" | undefined;
  onChange?: () => void;
}

export function Field({
  label,
  value,
  type = "number",
  unit,
  hint,
  min,
  max,
  step,
  onChange,
}: FieldProps) {
  const change = (event: { currentTarget: HTMLInputElement }): void => {
    value.value = event.currentTarget.value;
    onChange?.();
  };
  return (
    <label class="field">
      <span>
        {label}
        {unit && <span class="unit"> in {unit}</span>}
      </span>
      {type === "text" ? (
        <input type="text" value={value.value} onInput={change} />
      ) : (
        <input type="number" value={value.value} min={min} max={max} step={step} onInput={change} />
      )}
      {hint && <small>{hint}</small>}
    </label>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  value: Signal<T>;
  options: [T, string, string][];
  onChange?: () => void;
}

export function Choice<T extends string>({ label, value, options, onChange }: ChoiceProps<T>) {
  return (
    <div class="choice" role="radiogroup" aria-label={label}>
      <span class="choice-label">{label}</span>
      <div class="options">
        {options.map(([option, title, text]) => (
          <label key={option} class={value.value === option ? "option on" : "option"}>
            <input
              type="radio"
              name={label}
              value={option}
              checked={value.value === option}
              onChange={() => {
                value.value = option;
                onChange?.();
              }}
            />
            <b>{title}</b>
            <span>{text}</span>
          </label>
        ))}
      </div>
    </div>
  );
}
