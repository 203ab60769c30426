// The small world on a canvas: its squares, the region with a way home at δ, the plan, and ghosts.

import { HEIGHTS, MARK_COLOURS, css, surroundings } from "../map/colours";
import { drawHome } from "../map/home";
import { borderOf } from "../map/contour";
import type { Walk } from "./ghosts";
import type { Solution, World } from "./world";

const { way: WAY, here: HERE } = MARK_COLOURS;

export interface Scene {
  world: World;
  solution: Solution;
  walk: Walk;
  news: number[]; // squares that were just seen
  dark: boolean;
}

/** Names of places, with the row and column of their middle. */
const LABELS: [string, number, number][] = [
  ["ledge", 5.5, 3.5],
  ["crater", 6.5, 6.5],
  ["soft ground", 9.5, 7.5],
];

interface Ground {
  picture: OffscreenCanvas;
  of: unknown[]; // what it was drawn from
}

const grounds = new WeakMap<HTMLCanvasElement, Ground>();

/** Draw everything; the canvas is as wide as its element. What ghosts walk on is drawn once. */
export function draw(canvas: HTMLCanvasElement, scene: Scene): void {
  const { world, solution, news, dark } = scene;
  const ratio = window.devicePixelRatio || 1;
  const wide = canvas.clientWidth;
  const side = wide / world.columns;
  const [width, height] = [Math.round(wide * ratio), Math.round(side * world.rows * ratio)];
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
  }
  const context = canvas.getContext("2d");
  if (!context || !wide) return;
  const of = [world, solution, news, dark, width, height];
  let ground = grounds.get(canvas);
  if (!ground || ground.of.some((part, i) => part !== of[i])) {
    ground = { picture: new OffscreenCanvas(width, height), of };
    grounds.set(canvas, ground);
    const below = ground.picture.getContext("2d");
    below?.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (below) drawGround(below, scene, side);
  }
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.drawImage(ground.picture, 0, 0);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  scene.walk.draw(context, (square) => centre(world, square, side), side);
}

type Context = CanvasRenderingContext2D | OffscreenCanvasRenderingContext2D;

/** Draw squares, names, region, plan, home and rover. */
function drawGround(context: Context, scene: Scene, side: number): void {
  const { world, solution } = scene;
  const { rows, columns } = world;
  drawSquares(context, scene, side);
  for (const [text, row, column] of LABELS) {
    context.font = `600 ${Math.max(9, side * 0.3)}px system-ui, sans-serif`;
    const half = context.measureText(text).width / 2 + side * 0.14;
    const [x, y] = [column * side, row * side];
    context.fillStyle = "rgba(255,255,255,0.85)";
    context.beginPath();
    context.roundRect(x - half, y - side * 0.24, 2 * half, side * 0.48, side * 0.24);
    context.fill();
    context.fillStyle = "#16202a";
    context.fillText(text, x, y + 1);
  }
  const border = borderOf(solution.inside, rows, columns);
  context.beginPath();
  for (let i = 0; i < border.length; i += 4) {
    context.moveTo((border[i] as number) * side, (border[i + 1] as number) * side);
    context.lineTo((border[i + 2] as number) * side, (border[i + 3] as number) * side);
  }
  context.strokeStyle = WAY;
  context.lineWidth = 3;
  context.lineCap = "square";
  context.stroke();
  const { plan } = solution;
  const last = plan?.out[plan.out.length - 1];
  if (plan && last !== undefined) {
    drawLine(context, plan.back, world, side, WAY, [side * 0.16, side * 0.2]);
    drawLine(context, plan.out, world, side, HERE, [0.1, side * 0.22]);
    context.beginPath();
    context.arc(...centre(world, last, side), side * 0.3, 0, 2 * Math.PI);
    context.strokeStyle = HERE;
    context.lineWidth = 2.5;
    context.stroke();
  }
  drawHome(context, centre(world, world.home, side), side * 0.42, side * 0.084);
  context.beginPath();
  const [x, y] = centre(world, world.rover, side);
  const aside = world.rover === world.home ? side * 0.3 : 0; // home stays in sight
  context.arc(x + aside, y + aside, side * 0.2, 0, 2 * Math.PI);
  context.fillStyle = HERE;
  context.strokeStyle = "#fff";
  context.lineWidth = 3;
  context.stroke();
  context.fill();
}

function centre({ columns }: World, square: number, side: number): [number, number] {
  return [((square % columns) + 0.5) * side, (Math.floor(square / columns) + 0.5) * side];
}

function drawSquares(context: Context, scene: Scene, side: number): void {
  const { world, solution, news, dark } = scene;
  const tones = surroundings(dark);
  context.font = `${Math.max(9, side * 0.34)}px system-ui, sans-serif`;
  context.textAlign = "center";
  context.textBaseline = "middle";
  for (let s = 0; s < world.height.length; s++) {
    const [x, y] = [(s % world.columns) * side, Math.floor(s / world.columns) * side];
    const height = world.height[s] as number;
    const rock = height < 0;
    context.fillStyle = rock
      ? css(tones.wall)
      : world.seen[s]
        ? css(HEIGHTS[height - 1] ?? tones.wall)
        : css(tones.unseen);
    context.fillRect(x, y, side + 0.5, side + 0.5);
    const risk = world.risk[s] as number;
    if (!rock && !world.seen[s]) {
      context.fillStyle = dark ? "rgba(255,255,255,0.5)" : "rgba(20,30,40,0.45)";
      context.fillText("?", x + side / 2, y + side / 2);
      context.fillStyle = `rgba(${dark ? "255,84,66" : "195,36,26"},${risk})`;
      context.fillRect(x, y, side + 0.5, side + 0.5);
    }
    if (!rock && !solution.inside[s]) {
      context.fillStyle = `rgba(16,24,32,${dark ? 0.4 : 0.5})`;
      context.fillRect(x, y, side + 0.5, side + 0.5);
    }
    context.strokeStyle = tones.line;
    context.lineWidth = 1;
    context.strokeRect(x + 0.5, y + 0.5, side - 1, side - 1);
    if (news.includes(s)) {
      context.strokeStyle = "#fff";
      context.lineWidth = 3;
      context.strokeRect(x + 2, y + 2, side - 4, side - 4);
    }
  }
}

function drawLine(
  context: Context,
  squares: number[],
  world: World,
  side: number,
  colour: string,
  dash: number[],
): void {
  const path = new Path2D();
  for (const square of squares) path.lineTo(...centre(world, square, side));
  context.lineJoin = context.lineCap = "round";
  context.strokeStyle = "rgba(255,255,255,0.85)";
  context.lineWidth = side * 0.2;
  context.stroke(path);
  context.setLineDash(dash);
  context.strokeStyle = colour;
  context.lineWidth = side * 0.12;
  context.stroke(path);
  context.setLineDash([]);
}
