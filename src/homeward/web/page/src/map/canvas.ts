// The map on a canvas: pictures from the worker, and over them the path, ways home and marks. Draws
// at most once a frame, and only the part on view.

import { effect } from "@preact/signals";
import type { Way, Why } from "../api";
import type { Port } from "../link";
import type { Scene } from "../run/scene";
import { isGrid } from "../run/show";
import { MIN_SUCCESS, chance } from "../words";
import { dark } from "../parts/theme";
import { MARK_COLOURS, surroundings } from "./colours";
import { drawHome } from "./home";
import { Ink } from "./ink";
import { drawTarget } from "./targets";

const { ink: INK, way: WAY, here: HERE, lost: LOST } = MARK_COLOURS;
const LIGHT = "rgba(255,255,255,0.92)"; // the casing of lines
const RECENT_STEPS = 60; // that are drawn stronger
const MAX_ZOOM = 120; // pixels per cell

export class MapCanvas {
  private readonly context: CanvasRenderingContext2D;
  private readonly stops: (() => void)[] = [];
  private readonly watch: ResizeObserver;
  private frame = 0;
  private wide = 0; // CSS pixels
  private high = 0;
  private readonly pointers = new Map<number, { x: number; y: number }>();
  private moved = 0;
  private readonly ink = new Ink();

  constructor(
    readonly canvas: HTMLCanvasElement,
    readonly scene: Scene,
  ) {
    const context = canvas.getContext("2d");
    if (!context) throw new Error("This browser can't draw on a canvas.");
    this.context = context;
    this.watch = new ResizeObserver(() => {
      [this.wide, this.high] = [canvas.clientWidth, canvas.clientHeight];
      this.plan();
    });
    this.watch.observe(canvas);
    this.stops.push(
      effect(() => {
        const { pictures, here, step, back, way, why, selected, hover, port, run, show, walk } = this.scene;
        const drawn = [pictures, here, step, back, way, why, selected, hover, port, show.mix, walk.time];
        for (const signal of [...drawn, run.details, run.count, dark]) void signal.value;
        this.plan();
      }),
    );
    canvas.addEventListener("wheel", this.onWheel, { passive: false });
    canvas.onpointerdown = this.onDown;
    canvas.onpointermove = this.onMove;
    canvas.onpointerup = canvas.onpointercancel = this.onUp;
    canvas.onpointerleave = this.onLeave;
  }

  close(): void {
    this.stops.forEach((stop) => stop());
    this.watch.disconnect();
    cancelAnimationFrame(this.frame);
  }

  /** The size of the map in cells, and the ratio of a cell's height to its width. */
  private get ground(): { rows: number; columns: number; tall: number } {
    const details = this.scene.run.details.peek();
    const [rows, columns] = details?.shape ?? [1, 1];
    const [dy, dx] = details?.cell ?? [1, 1];
    return { rows, columns, tall: dx > 0 && dy > 0 ? dy / dx : 1 };
  }

  /** The part on view: the chosen one, moved onto the map, or the whole map. */
  get port(): Port {
    const chosen = this.scene.port.peek();
    if (chosen) return this.within(chosen);
    const { rows, columns } = this.ground;
    return { x: columns / 2, y: rows / 2, zoom: Math.max(this.whole * 0.94, 0.01) };
  }

  /** The pixels per column at which the map just fits into the canvas. */
  private get whole(): number {
    const { rows, columns, tall } = this.ground;
    return Math.min(this.wide / columns, this.high / (rows * tall));
  }

  /** Return the nearest allowed part: its middle on the map, its zoom within limits. */
  private within({ x, y, zoom }: Port): Port {
    const { rows, columns } = this.ground;
    return {
      x: between(0, x, columns),
      y: between(0, y, rows),
      zoom: between(this.whole * 0.5, zoom, MAX_ZOOM),
    };
  }

  private toScreen(x: number, y: number): [number, number] {
    const port = this.port;
    return [
      this.wide / 2 + (x - port.x) * port.zoom,
      this.high / 2 + (y - port.y) * port.zoom * this.ground.tall,
    ];
  }

  private toMap(x: number, y: number): [number, number] {
    const port = this.port;
    return [
      port.x + (x - this.wide / 2) / port.zoom,
      port.y + (y - this.high / 2) / (port.zoom * this.ground.tall),
    ];
  }

  /** Return the cell at a point of the canvas, null off the map. */
  cellAt(x: number, y: number): number | null {
    const { rows, columns } = this.ground;
    const [c, r] = this.toMap(x, y).map(Math.floor) as [number, number];
    return r >= 0 && c >= 0 && r < rows && c < columns ? r * columns + c : null;
  }

  /** Zoom by a factor around a point of the canvas, its middle by default. */
  zoom(factor: number, x = this.wide / 2, y = this.high / 2): void {
    const [mx, my] = this.toMap(x, y);
    const { zoom } = this.within({ ...this.port, zoom: this.port.zoom * factor });
    this.look(mx, my, zoom, x - this.wide / 2, y - this.high / 2);
  }

  pan(dx: number, dy: number): void {
    this.look(this.port.x, this.port.y, this.port.zoom, dx, dy);
  }

  fit(): void {
    this.scene.port.value = null;
  }

  /** Bring a cell into view. */
  reveal(cell: number): void {
    const [x, y] = this.centre(cell);
    if (x < 0 || y < 0 || x > this.wide || y > this.high)
      this.pan(this.wide / 2 - x, this.high / 2 - y);
  }

  /** Show a point of the map so many pixels from the middle of the canvas. */
  private look(x: number, y: number, zoom: number, dx: number, dy: number): void {
    const port = { x: x - dx / zoom, y: y - dy / (zoom * this.ground.tall), zoom };
    this.scene.port.value = this.within(port);
  }

  private plan(): void {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.draw());
  }

  private draw(): void {
    const { context, scene } = this;
    const ratio = this.fitPixels();
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, this.wide, this.high);
    const details = scene.run.details.peek();
    if (!details?.shape || !this.wide) return;
    this.drawPictures();
    const zoom = this.port.zoom;
    if (isGrid(details) && zoom >= 12) this.drawGrid();
    this.drawBorder();
    this.drawPath(zoom);
    const step = scene.step.peek();
    const reached = details.targets.filter((cell) => (scene.run.reached.peek().get(cell) ?? Infinity) <= step);
    const way = scene.way.peek();
    const back = scene.back.peek();
    if (way) this.drawWay(way, zoom, true);
    const why = scene.why.peek();
    const now = why?.step === step; // what is of another moment is not drawn as if it were of this one
    if (!way && back && now) this.drawWay(back, zoom, false);
    if (why?.proposal && now) this.drawProposal(why.proposal.path, zoom);
    const here = scene.here.peek();
    if (why && now && here !== null) this.drawMoves(why, here, zoom);
    // above lines and moves, so that a target looks the same whenever they come
    for (const cell of details.targets)
      drawTarget(context, this.centre(cell), between(7, zoom * 0.4, 14), reached.includes(cell));
    this.canvas.dataset["reached"] = reached.join(" "); // for tests and other observers
    const start = scene.run.stateAt(0);
    if (start !== null) this.drawDisc(start, between(3.5, zoom * 0.24, 9), "#fff", INK, 2);
    for (const home of scene.run.homesAt(step))
      if (home !== here) drawHome(context, this.centre(home), between(8, zoom * 0.42, 15), 2);
    const lost = details.trapped !== null && step >= details.trapped;
    if (here !== null)
      this.drawDisc(here, between(5, zoom * 0.3, 12) + 1.25, lost ? LOST : HERE, "#fff", 2.5);
    if (lost && details.trapped !== null) this.drawTrap(details.trapped);
    scene.walk.draw(context, (cell) => this.centre(cell), zoom);
    const selected = scene.selected.peek();
    const hover = scene.hover.peek();
    if (hover !== null) this.drawFrame(hover, zoom, "rgba(255,255,255,0.95)", 2);
    if (selected !== null) this.drawFrame(selected, zoom, WAY, 2.5);
    if (way) this.drawRisks(way, zoom);
    if (details.cell) this.drawScale(details.cell[1], zoom);
  }

  /** Make the canvas as large as its element; return the canvas pixels per CSS pixel. */
  private fitPixels(): number {
    const { canvas } = this;
    const ratio = window.devicePixelRatio || 1;
    const [width, height] = [Math.round(this.wide * ratio), Math.round(this.high * ratio)];
    if (canvas.width !== width) canvas.width = width;
    if (canvas.height !== height) canvas.height = height;
    return width / Math.max(1, this.wide);
  }

  /** Draw the border of the cells with a way home at the level. */
  private drawBorder(): void {
    const border = this.scene.pictures.peek()?.border;
    this.canvas.dataset["border"] = String((border?.length ?? 0) / 4); // for tests and other observers
    if (!border) return;
    const [ox, oy] = this.toScreen(0, 0);
    const { zoom } = this.port;
    const tall = zoom * this.ground.tall;
    const path = new Path2D();
    for (let i = 0; i < border.length; i += 4) {
      path.moveTo(ox + (border[i] as number) * zoom, oy + (border[i + 1] as number) * tall);
      path.lineTo(ox + (border[i + 2] as number) * zoom, oy + (border[i + 3] as number) * tall);
    }
    this.context.strokeStyle = WAY;
    this.context.lineWidth = between(1, zoom * 0.06, 3);
    this.context.stroke(path);
  }

  /** Draw the moves from here: longer if the look there tells more, red and struck if refused. */
  private drawMoves(why: Why, here: number, zoom: number): void {
    const { context } = this;
    const moves = why.actions.filter(
      ({ dr, dc, verdict, leaves }) => (dr || dc) && verdict !== "unavailable" && (leaves >= MIN_SUCCESS || verdict === "chosen"),
    );
    const most = Math.max(1e-12, ...moves.map(({ look }) => look ?? 0));
    const [x, y] = this.centre(here);
    const inner = between(7, zoom * 0.34, 15);
    context.lineCap = "round";
    for (const { dr, dc, look, verdict } of moves) {
      const turn = Math.atan2((dr ?? 0) * this.ground.tall, dc ?? 0);
      const length = 9 + 24 * Math.max(0, (look ?? 0) / most);
      const refused = verdict === "unsafe";
      const colour = refused ? LOST : verdict === "chosen" ? HERE : WAY;
      const width = verdict === "chosen" ? 4.5 : 3;
      context.save();
      context.translate(x, y);
      context.rotate(turn);
      const path = new Path2D();
      path.moveTo(inner, 0);
      path.lineTo(inner + length, 0);
      path.moveTo(inner + length - 5, -5);
      path.lineTo(inner + length, 0);
      path.lineTo(inner + length - 5, 5);
      if (refused) {
        path.moveTo(inner + length / 2 - 4, -6);
        path.lineTo(inner + length / 2 + 4, 6);
      }
      this.strokeCased(path, colour, width);
      context.restore();
    }
  }

  /** Write where and when the explorer lost its way home. */
  private drawTrap(step: number): void {
    const cell = this.scene.run.stateAt(step);
    if (cell === null) return;
    const { context } = this;
    const [x, y] = this.centre(cell);
    const text = `Trapped at step ${step}`;
    context.font = "650 14px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "left";
    const wide = context.measureText(text).width + 20;
    const left = x + 14 + wide < this.wide ? x + 14 : x - 14 - wide;
    context.fillStyle = LOST;
    context.beginPath();
    context.roundRect(left, y - 13, wide, 26, 13);
    context.fill();
    context.fillStyle = "#fff";
    context.fillText(text, left + 10, y + 0.5);
  }

  /** Draw a scale bar of a round length, in the lower right corner. */
  private drawScale(cell: number, zoom: number): void {
    const { context } = this;
    const metres = (110 / zoom) * cell;
    const power = 10 ** Math.floor(Math.log10(metres));
    const length = [5, 2, 1].map((m) => m * power).find((m) => m <= metres) ?? power;
    const wide = (length / cell) * zoom;
    const [right, bottom] = [this.wide - 14, this.high - 14];
    const text = length >= 1000 ? `${length / 1000} km` : `${length} m`;
    context.font = "600 12px system-ui, sans-serif";
    const box = Math.max(wide, context.measureText(text).width) + 16;
    context.fillStyle = "rgba(255,255,255,0.86)";
    context.beginPath();
    context.roundRect(right - box + 8, bottom - 22, box, 30, 6);
    context.fill();
    context.strokeStyle = context.fillStyle = INK;
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(right - wide, bottom - 3);
    context.lineTo(right - wide, bottom + 1);
    context.lineTo(right, bottom + 1);
    context.lineTo(right, bottom - 3);
    context.stroke();
    context.textAlign = "right";
    context.textBaseline = "alphabetic";
    context.fillText(text, right, bottom - 8);
    this.canvas.dataset["scale"] = text; // for tests and other observers
  }

  private drawPictures(): void {
    const pictures = this.scene.pictures.peek();
    if (!pictures) return;
    const { context } = this;
    const { rows, columns } = this.ground;
    const [left, top] = this.toMap(0, 0);
    const [right, bottom] = this.toMap(this.wide, this.high);
    const c0 = Math.max(0, Math.floor(left));
    const r0 = Math.max(0, Math.floor(top));
    const c1 = Math.min(columns, Math.ceil(right));
    const r1 = Math.min(rows, Math.ceil(bottom));
    if (c1 <= c0 || r1 <= r0) return;
    const [x0, y0] = this.toScreen(c0, r0);
    const [x1, y1] = this.toScreen(c1, r1);
    for (const picture of [pictures.base, pictures.over]) {
      if (!picture) continue;
      const { side, bitmap } = picture;
      context.imageSmoothingEnabled =
        side > 1 || this.port.zoom * (window.devicePixelRatio || 1) < 1;
      context.globalAlpha = picture === pictures.over ? this.scene.show.mix.peek() : 1;
      const source = [c0 * side, r0 * side, (c1 - c0) * side, (r1 - r0) * side] as const;
      context.drawImage(bitmap, ...source, x0, y0, x1 - x0, y1 - y0);
    }
    context.globalAlpha = 1;
    // for tests and other observers
    this.canvas.dataset["step"] = String(pictures.step);
    this.canvas.dataset["layer"] = pictures.base.layer;
  }

  private drawGrid(): void {
    const { context } = this;
    const { rows, columns } = this.ground;
    const [left, top] = this.toScreen(0, 0);
    const [right, bottom] = this.toScreen(columns, rows);
    context.beginPath();
    for (let c = 0; c <= columns; c++) {
      context.moveTo(this.toScreen(c, 0)[0], top);
      context.lineTo(this.toScreen(c, 0)[0], bottom);
    }
    for (let r = 0; r <= rows; r++) {
      context.moveTo(left, this.toScreen(0, r)[1]);
      context.lineTo(right, this.toScreen(0, r)[1]);
    }
    context.strokeStyle = surroundings(dark.peek()).line;
    context.lineWidth = 1;
    context.stroke();
  }

  private centre(cell: number): [number, number] {
    const { columns } = this.ground;
    return this.toScreen((cell % columns) + 0.5, Math.floor(cell / columns) + 0.5);
  }

  private drawPath(zoom: number): void {
    const { context, scene } = this;
    const { next } = scene.run.columns.peek();
    const step = scene.step.peek();
    const start = scene.run.stateAt(0);
    if (step < 1 || start === null) return;
    const { columns, tall } = this.ground;
    const [ox, oy] = this.toScreen(0, 0);
    const x = (cell: number): number => ox + ((cell % columns) + 0.5) * zoom;
    const y = (cell: number): number => oy + (Math.floor(cell / columns) + 0.5) * zoom * tall;
    const width = between(1.7, zoom * 0.16, 4);
    const fresh = Math.max(0, step - RECENT_STEPS);
    context.lineJoin = context.lineCap = "round";
    if (fresh > 0) {
      const [wide, high, ratio] = [this.wide, this.high, this.canvas.width / this.wide];
      const view = { left: ox, top: oy, across: zoom, down: zoom * tall, columns, wide, high, ratio };
      if (!this.ink.draw(context, fresh, [start, next], view, width)) this.plan();
    }
    const recent = new Path2D();
    let last = fresh === 0 ? start : (next[fresh - 1] as number);
    recent.moveTo(x(last), y(last));
    for (let i = fresh; i < step; i++) {
      const cell = next[i] as number;
      if (cell !== last) recent.lineTo(x(cell), y(cell));
      last = cell;
    }
    this.strokeCased(recent, INK, width);
  }

  /** Stroke a path in a colour over a wider light line. */
  private strokeCased(path: Path2D, colour: string, width: number, dash: number[] = []): void {
    const { context } = this;
    context.lineCap = "round";
    context.strokeStyle = LIGHT;
    context.lineWidth = width + 2.5;
    context.stroke(path);
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.setLineDash(dash);
    context.stroke(path);
    context.setLineDash([]);
  }

  /** Draw a filled circle with an edge around a cell's centre; sizes are in pixels. */
  private drawDisc(cell: number, radius: number, fill: string, edge: string, width: number): void {
    const { context } = this;
    context.beginPath();
    context.arc(...this.centre(cell), radius, 0, 2 * Math.PI);
    context.fillStyle = fill;
    context.fill();
    context.strokeStyle = edge;
    context.lineWidth = width;
    context.stroke();
  }

  /** Draw where the explorer heads: dotted, with a ring around the last cell. */
  private drawProposal(cells: number[], zoom: number): void {
    const last = cells[cells.length - 1];
    if (last === undefined || cells.length < 2) return;
    const width = between(1.6, zoom * 0.14, 5);
    const path = new Path2D();
    for (const cell of cells) path.lineTo(...this.centre(cell));
    this.strokeCased(path, HERE, width, [0.1, width * 2]);
    const ring = new Path2D();
    ring.arc(...this.centre(last), between(4, zoom * 0.3, 9), 0, 2 * Math.PI);
    this.strokeCased(ring, HERE, width);
  }

  /** Draw a way home: with arrows if the user asked for it, else dashed. */
  private drawWay(way: Way, zoom: number, asked: boolean): void {
    const width = between(1.6, zoom * 0.14, 5);
    const path = new Path2D();
    for (const edge of way.edges) {
      path.moveTo(...this.centre(edge.from));
      path.lineTo(...this.centre(edge.to));
    }
    this.strokeCased(path, WAY, width, asked ? [] : [width * 1.4, width * 2.2]);
    if (asked) for (const edge of way.edges) this.drawArrow(edge.from, edge.to, width);
  }

  /** Write the risk of each edge of a way home beside it, if it has any. */
  private drawRisks(way: Way, zoom: number): void {
    if (zoom < 26) return;
    const { context } = this;
    context.font = `600 ${Math.min(13, Math.max(10, zoom * 0.26))}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const edge of way.edges) {
      if (edge.risk <= 0) continue;
      const [ax, ay] = this.centre(edge.from);
      const [bx, by] = this.centre(edge.to);
      const text = chance(edge.risk, edge.risk < 0.1 ? 3 : 2);
      const half = context.measureText(text).width / 2 + 6;
      const [x, y] = [(ax + bx) / 2 + half + 6, (ay + by) / 2];
      context.fillStyle = "#7a2e06";
      context.beginPath();
      context.roundRect(x - half, y - 10, 2 * half, 20, 10);
      context.fill();
      context.fillStyle = "#fff";
      context.fillText(text, x, y + 0.5);
    }
  }

  private drawArrow(from: number, to: number, width: number): void {
    const { context } = this;
    const [[ax, ay], [bx, by]] = [this.centre(from), this.centre(to)];
    const size = width * 2.1;
    context.save();
    context.translate(ax + (bx - ax) * 0.82, ay + (by - ay) * 0.82);
    context.rotate(Math.atan2(by - ay, bx - ax));
    context.fillStyle = WAY;
    context.beginPath();
    context.moveTo(size * 0.8, 0);
    context.lineTo(-size * 0.6, size * 0.75);
    context.lineTo(-size * 0.6, -size * 0.75);
    context.closePath();
    context.fill();
    context.restore();
  }

  private drawFrame(cell: number, zoom: number, colour: string, width: number): void {
    const { columns, tall } = this.ground;
    const [x, y] = this.toScreen(cell % columns, Math.floor(cell / columns));
    for (const [style, wide] of [["rgba(18,40,61,0.75)", width + 2], [colour, width]] as const) {
      this.context.strokeStyle = style;
      this.context.lineWidth = wide;
      this.context.strokeRect(x, y, Math.max(zoom, 4), Math.max(zoom * tall, 4));
    }
  }

  private place(event: MouseEvent): [number, number] {
    const box = this.canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  /** Zoom; beside other maps only with Ctrl, since the page is scrolled there. */
  private readonly onWheel = (event: WheelEvent): void => {
    if (this.scene.cursor.runs.length > 1 && !event.ctrlKey) return;
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 24 : 1;
    this.zoom(Math.exp(-event.deltaY * unit * 0.0016), ...this.place(event));
  };

  private readonly onDown = (event: PointerEvent): void => {
    if (event.button !== 0) return;
    const [x, y] = this.place(event);
    this.canvas.setPointerCapture(event.pointerId);
    if (!this.pointers.size) this.moved = 0;
    this.pointers.set(event.pointerId, { x, y });
  };

  private readonly onMove = (event: PointerEvent): void => {
    const [x, y] = this.place(event);
    const before = this.pointers.get(event.pointerId);
    if (!before) {
      this.scene.hover.value = this.cellAt(x, y);
      return;
    }
    const other = [...this.pointers].find(([id]) => id !== event.pointerId)?.[1];
    this.pointers.set(event.pointerId, { x, y });
    this.moved += Math.hypot(x - before.x, y - before.y);
    if (other) {
      this.pan((x - before.x) / 2, (y - before.y) / 2); // the point between two fingers stays between them
      const was = Math.hypot(before.x - other.x, before.y - other.y);
      const now = Math.hypot(x - other.x, y - other.y);
      if (was > 0) this.zoom(now / was, (x + other.x) / 2, (y + other.y) / 2);
    } else if (this.moved > 4) this.pan(x - before.x, y - before.y);
  };

  private readonly onUp = (event: PointerEvent): void => {
    if (!this.pointers.delete(event.pointerId) || this.moved > 4 || event.type !== "pointerup")
      return;
    const cell = this.cellAt(...this.place(event));
    const deselected = cell === this.scene.selected.value; // deselected by a second tap
    this.scene.hover.value = deselected && event.pointerType === "touch" ? null : cell;
    this.scene.selected.value = deselected ? null : cell;
  };

  /** Forget the cell under a mouse that leaves; a finger leaves whenever it is lifted. */
  private readonly onLeave = (event: PointerEvent): void => {
    if (!this.pointers.size && event.pointerType !== "touch") this.scene.hover.value = null;
  };
}

/** Return the value, or the end of the range that it is beyond. */
export function between(low: number, value: number, high: number): number {
  return Math.max(low, Math.min(high, value));
}
