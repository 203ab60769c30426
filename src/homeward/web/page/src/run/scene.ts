// One run at the cursor's step: its picture, the plan of the next move, ways home, and the cell under
// the pointer. Everything is fetched as the cursor moves, and only the latest request counts.

import { batch, computed, effect, signal } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";
import { Refusal, getJson, runUrl, textOf } from "../api";
import type { Details, TimelineEvent, Way, Why } from "../api";
import { Walk } from "../calloff/ghosts";
import type { Port } from "../link";
import { painter } from "../map/painter";
import type { Painted, Shown } from "../map/worker";
import { complain, found } from "../messages";
import { dark } from "../parts/theme";
import type { Cursor } from "./cursor";
import { Latest } from "./latest";
import type { RunModel } from "./model";
import { DEFAULT_LEVEL, fixedOf, groundOf, howOf, layerOf } from "./show";
import type { Show } from "./show";
import { eventsOf } from "./timeline";

export const MAX_CELLS_ALL_LAYERS = 60_000; // up to which all layers are loaded
const MIN_CELLS_SLOW = 200_000; // from which on a plan is computed only on request
const MAX_CELLS_LIT = 4_000; // up to which the cells with a way home are found at every moment
const SETTLED_MS = 120; // without a move of the cursor before the plan is asked for

interface Wanted {
  step: number;
  base: string;
  over: string | null;
  lit: boolean; // whether cells without a way home are dimmed
}

export interface Pictures {
  step: number;
  base: Shown;
  over: Shown | null;
  border: Float32Array | null; // of the cells with a way home, as segments
}

export class Scene {
  readonly step = computed(() => Math.min(this.cursor.step.value, this.run.count.value));
  readonly slow = computed(() => {
    const shape = this.run.details.value?.shape;
    return !!shape && shape[0] * shape[1] >= MIN_CELLS_SLOW;
  });
  /** The run and its map as a text; steps and status of a live run do not change it. */
  private readonly mapped = computed(() => {
    const details = this.run.details.value;
    if (!details) return "";
    const { created, shape, cell, layers } = details;
    return JSON.stringify([created, shape, cell, layers.map(({ name }) => name)]);
  });
  /** The level of the region with a way home. */
  readonly level = computed(
    () =>
      this.run.details.value?.criteria.find(({ kind }) => kind === "return")?.level ?? DEFAULT_LEVEL,
  );
  readonly planning = signal(false);
  readonly here = computed(() => this.run.stateAt(this.step.value));
  readonly pictures = signal<Pictures | null>(null);
  readonly noPicture = signal(""); // why this step has no picture
  readonly why = signal<Why | null>(null);
  readonly noWhy = signal("");
  readonly back = signal<Way | null>(null); // from here, or from where the move leads
  readonly selected = signal<number | null>(null);
  readonly way = signal<Way | null>(null); // from the selected cell
  readonly walk = new Walk(); // of ghosts, on the way home of this moment
  readonly hover = signal<number | null>(null);
  readonly read = signal<number | null>(null); // the cell whose values are known
  readonly values = signal<Record<string, number>>({}); // of that cell

  /** Whether the first picture is there, or there will be none: plots wait for it. */
  readonly begun = computed(
    () =>
      this.drawn.value !== null ||
      this.run.missing.value !== "" ||
      this.run.details.value?.layers.length === 0,
  );

  /** Whether the first reasons are there too, or there will be none. */
  readonly told = computed(
    () => this.begun.value && (this.why.value !== null || this.noWhy.value !== "" || this.slow.value),
  );

  readonly events: ReadonlySignal<TimelineEvent[]>;
  private readonly drawn = signal<number | null>(null); // the last step whose picture has come, or not
  private readonly paints = new Latest<Wanted>((wanted) => this.paint(wanted));
  private readonly reasons = new Latest<number>((step) => this.explain(step));
  private readonly ways = new Latest<{ step: number; cell: number }>((wanted) =>
    this.findWay(wanted),
  );
  private readonly whys = new Map<number, Why>();
  private readonly stops: (() => void)[];
  private settle = 0;
  private asking: AbortController | null = null;

  constructor(
    readonly run: RunModel,
    readonly cursor: Cursor,
    readonly show: Show,
    private readonly place: number, // 0, or 1 for the second of two
  ) {
    const { events, stop } = eventsOf(run, this.told);
    this.events = events;
    this.stops = [
      stop,
      effect(() => {
        const details = this.mapped.value ? run.details.peek() : null;
        const step = this.step.value;
        void found.value; // what could not be fetched is asked for again
        void dark.value;
        // A link to a later step must not load the first one.
        if (!details?.shape || !details.layers.length || !cursor.placed.value) return;
        const base = layerOf(details, show.layer.value);
        const over = details.layers.find((layer) => layer.name === show.over.value) ?? null;
        const lit = details.shape[0] * details.shape[1] <= MAX_CELLS_LIT;
        if (base) this.paints.ask({ step, base: base.name, over: over?.name ?? null, lit });
      }),
      effect(() => {
        const details = this.mapped.value ? run.details.peek() : null;
        const step = this.step.value;
        const cells = details?.shape ? details.shape[0] * details.shape[1] : 0;
        const moving = cursor.playing.value || (cursor.follow.value && run.going.value);
        const [layer, over] = [show.layer.value, show.over.value];
        void found.value;
        // The picture goes first: the same process computes plans, which take longer.
        const drawn = !details?.layers.length || this.drawn.value === step;
        window.clearTimeout(this.settle);
        if (!moving) this.asking?.abort(); // the answer for another step is obsolete
        if (!details || run.missing.value || !cursor.placed.value) return;
        if (cells >= MIN_CELLS_SLOW) {
          this.why.value = this.whys.get(step) ?? null;
          this.back.value = null;
        } else if (drawn && moving) this.reasons.ask(step);
        else if (drawn) {
          this.settle = window.setTimeout(() => {
            this.reasons.ask(step);
            if (cells && cells <= MAX_CELLS_ALL_LAYERS) void this.loadRest(step);
            const base = details.shape && layerOf(details, layer);
            if (base && cells > MAX_CELLS_LIT && cells <= MAX_CELLS_ALL_LAYERS)
              this.paints.ask({ step, base: base.name, over, lit: true });
          }, SETTLED_MS);
        }
      }),
      effect(() => {
        const cell = this.selected.value;
        if (cell === null) this.way.value = null;
        else this.ways.ask({ step: this.step.value, cell });
      }),
      effect(() => {
        const cell = this.hover.value;
        const step = this.pictures.value?.step; // what is on view, not what is asked for
        if (cell === null || step === undefined) this.tell(null, {});
        else void this.probe(step, cell);
      }),
    ];
  }

  /** The part that its map shows. */
  get port(): Signal<Port | null> {
    return this.show.portOf(this.place);
  }

  close(): void {
    this.stops.forEach((stop) => stop());
    this.walk.stop();
    window.clearTimeout(this.settle);
    this.asking?.abort();
    this.drop();
  }

  /** Compute the plan of this step on request. */
  ask(): void {
    this.reasons.ask(this.step.peek());
  }

  private drop(): void {
    this.pictures.peek()?.base.bitmap.close();
    this.pictures.peek()?.over?.bitmap.close();
  }

  private async paint({ step, base, over, lit }: Wanted): Promise<void> {
    const details = this.run.details.peek();
    if (!details) return;
    const painted: Painted[] = [];
    for (const name of over === null ? [base] : [base, over]) {
      const layer = layerOf(details, name);
      if (layer) painted.push({ layer: layer.name, how: howOf(layer), fixed: fixedOf(layer) });
    }
    const seen = details.layers.map((layer) => layer.name).filter((name) => name === "seen");
    const known = lit && details.layers.some((layer) => layer.name === "v");
    const level = known ? this.level.peek() : null;
    const answer = await this.fetch(details, step, painted, seen, level);
    this.drawn.value = step;
    if (answer.kind === "refused") {
      this.run.doubt(answer.status);
      this.noPicture.value = answer.error;
      if (answer.status !== 404 && !this.run.gone.peek())
        complain(new Refusal(answer.error, answer.status, answer.code));
    }
    if (answer.kind !== "shown" || !answer.pictures[0]) return;
    this.noPicture.value = "";
    this.drop();
    this.pictures.value = { step, base: answer.pictures[0], over: answer.pictures[1] ?? null, border: answer.border };
  }

  /** Load layers of a step and have some of them painted. */
  private fetch(
    details: Details,
    step: number,
    paint: Painted[],
    layers: string[],
    level: number | null = null,
  ) {
    const ground = groundOf(details);
    return painter().ask({ kind: "show", run: this.run.id, step, ground, paint, layers, level });
  }

  /** Load all layers of a step, so that their values can be read. */
  private async loadRest(step: number): Promise<void> {
    const details = this.run.details.peek();
    if (!details) return;
    const layers = details.layers.map((layer) => layer.name);
    const answer = await this.fetch(details, step, [], layers);
    const cell = this.hover.peek();
    if (answer.kind === "shown" && cell !== null) void this.probe(step, cell);
  }

  private async probe(step: number, cell: number): Promise<void> {
    const answer = await painter().ask({ kind: "probe", run: this.run.id, step, cell });
    if (
      answer.kind === "probed" &&
      this.hover.peek() === cell &&
      this.pictures.peek()?.step === step
    ) {
      this.tell(cell, answer.values);
    }
  }

  /** Show a cell together with its values. */
  private tell(cell: number | null, values: Record<string, number>): void {
    batch(() => {
      this.read.value = cell;
      this.values.value = values;
    });
  }

  private async explain(step: number): Promise<void> {
    if (this.run.gone.peek() && !this.whys.has(step)) {
      this.why.value = this.back.value = null;
      this.noWhy.value = "The run was deleted before this plan was computed.";
      return;
    }
    this.planning.value = true;
    this.asking = new AbortController();
    const { signal } = this.asking;
    try {
      const why =
        this.whys.get(step) ??
        (await getJson<Why>(runUrl(this.run.id, `/steps/${step}/why`), signal));
      this.whys.set(step, why);
      if (this.whys.size > 300) this.whys.delete(this.whys.keys().next().value as number);
      if (this.why.peek()?.step !== step) this.back.value = null; // it was of another moment
      this.why.value = why;
      this.noWhy.value = "";
      await this.findBack(step, why);
    } catch (cause) {
      if (signal.aborted) return;
      if (cause instanceof Refusal) this.run.doubt(cause.status);
      this.why.value = null;
      this.back.value = null;
      this.noWhy.value = textOf(cause);
    } finally {
      this.planning.value = false;
    }
  }

  /** Find the way home from here, or from where the chosen move leads if this is home. */
  private async findBack(step: number, why: Why): Promise<void> {
    const details = this.run.details.peek();
    if (!details?.shape || !why.criteria.some((criterion) => criterion.kind === "return")) {
      this.back.value = null;
      return;
    }
    let cell = why.state;
    if (this.run.homesAt(step).includes(cell)) {
      const action = why.action === null ? null : details.actions[why.action];
      if (action?.dr == null || action.dc == null) return;
      cell += action.dr * details.shape[1] + action.dc;
    }
    try {
      this.back.value = await this.wayFrom(step, cell);
    } catch {
      this.back.value = null; // the map does without; the reasons are there all the same
    }
  }

  private wayFrom(step: number, cell: number, more = ""): Promise<Way> {
    return getJson<Way>(runUrl(this.run.id, `/steps/${step}/way?cell=${cell}${more}`));
  }

  private async findWay({ step, cell }: { step: number; cell: number }): Promise<void> {
    try {
      const way = await this.wayFrom(step, cell, "&profile=1");
      if (this.selected.peek() === cell) this.way.value = way;
    } catch (cause) {
      this.way.value = null;
      if (this.selected.peek() !== cell) return;
      this.selected.value = null;
      if (cause instanceof Refusal) this.run.doubt(cause.status);
      complain(this.run.gone.peek() ? "The run was deleted: its ways home are gone." : cause);
    }
  }
}
