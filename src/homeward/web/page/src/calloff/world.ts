// A small world that is partly known, and the safest plan in it, solved exactly.
//
// Every square has a height. A move to one of eight neighbours works if it climbs at most one; drops
// of any depth work. A square that was not seen is firm (height 3) or a pit (height 1) with a
// probability of its own, independently of the others. A pit can't be left: everything around is two
// higher. So a way home works if none of its squares is a pit, and its probability is a product over
// its unseen squares: the safest way home is a shortest path, with −ln(1 − risk) as the length of a
// square. `tests/web/page/test_calloff.py` compares these numbers with those of the planner.

export interface World {
  rows: number;
  columns: number;
  height: Int8Array; // [S] of a firm square; −1 is rock
  risk: Float64Array; // [S] that the square is a pit; 0 once it is seen
  seen: Uint8Array; // [S]
  home: number;
  rover: number;
}

export interface Plan {
  out: number[]; // squares from the rover to where it turns, both included
  back: number[]; // from there home
  gain: number; // unseen squares that it would see
  promised: number; // the probability that it comes home, as the planner believes
  proven: number; // the true one
}

export interface Solution {
  value: Float64Array; // [S] probability of the safest way home
  inside: Uint8Array; // [S] whether that is at least δ
  plan: Plan | null; // null if nothing is worth a move
}

const ROCK = -1;
const FIRM = 3;
const TOLERANCE = 1e-12;

const MAP = [
  "#3aaaaaaaabbbbbb#",
  "#3###########bbb#",
  "#345ccccccc##bbb#",
  "#345ccccccccbbbb#",
  "#345cccccccccbbb#",
  "#345cccccccc#bbb#",
  "H345ccccccc##bbb#",
  "#3####g######bbb#",
  "#3defgggggg##bbb#",
  "#3defggggggggbbb#",
  "#3defgggggg######",
  "#3defgggggg######",
  "#3defgggggg######",
];
const RISKS: Record<string, number> = { a: 0.004, b: 0.006, c: 0.002, d: 0.1, e: 0.2, f: 0.3, g: 0.4 };

/** Return the world as it is before the first step. */
export function makeWorld(): World {
  const [rows, columns] = [MAP.length, (MAP[0] as string).length];
  const squares = [...MAP.join("")];
  const home = squares.indexOf("H");
  return {
    rows,
    columns,
    height: Int8Array.from(squares, (square) =>
      square === "#" ? ROCK : /\d/.test(square) ? Number(square) : FIRM,
    ),
    risk: Float64Array.from(squares, (square) => RISKS[square] ?? 0),
    seen: Uint8Array.from(squares, (square) => (square in RISKS ? 0 : 1)),
    home,
    rover: home,
  };
}

/** Return the squares around one, without it. */
export function around({ rows, columns }: World, square: number): number[] {
  const [r, c] = [Math.floor(square / columns), square % columns];
  const found: number[] = [];
  for (let y = Math.max(0, r - 1); y <= Math.min(rows - 1, r + 1); y++)
    for (let x = Math.max(0, c - 1); x <= Math.min(columns - 1, c + 1); x++)
      if (y !== r || x !== c) found.push(y * columns + x);
  return found;
}

function works({ height }: World, from: number, to: number): boolean {
  const [low, high] = [height[from] as number, height[to] as number];
  return low !== ROCK && high !== ROCK && high - low <= 1;
}

/** Find the safest way home from every square: its probability, and the next square on it. */
function waysHome(world: World, risk: Float64Array): { value: Float64Array; next: Int32Array } {
  const size = world.height.length;
  const cost = new Float64Array(size).fill(Infinity);
  const steps = new Float64Array(size).fill(Infinity);
  const value = new Float64Array(size);
  const next = new Int32Array(size).fill(-1);
  const done = new Uint8Array(size);
  cost[world.home] = steps[world.home] = 0;
  value[world.home] = 1;
  for (;;) {
    let best = -1;
    for (let s = 0; s < size; s++) {
      if (done[s] || cost[s] === Infinity) continue;
      if (best < 0 || shorter(cost[s] as number, steps[s] as number, cost[best] as number, steps[best] as number))
        best = s;
    }
    if (best < 0) return { value, next };
    done[best] = 1;
    for (const s of around(world, best)) {
      if (done[s] || !works(world, s, best)) continue;
      const [length, many] = [(cost[best] as number) - Math.log1p(-(risk[s] as number)), (steps[best] as number) + 1];
      if (!shorter(length, many, cost[s] as number, steps[s] as number)) continue;
      cost[s] = length;
      steps[s] = many;
      next[s] = best;
      value[s] = (value[best] as number) * (1 - (risk[s] as number));
    }
  }
}

function shorter(cost: number, steps: number, other: number, others: number): boolean {
  return cost < other - TOLERANCE || (cost <= other + TOLERANCE && steps < others);
}

/** Return the probability that none of the squares is a pit. */
export function firm(squares: Iterable<number>, risk: Float64Array): number {
  let product = 1;
  for (const square of new Set(squares)) product *= 1 - (risk[square] as number);
  return product;
}

/** Solve the world at a level δ.
 *
 * The plan goes to where it would see the most unseen squares per step, and of equal ones the most,
 * among the squares from which, and from everywhere on the way to which, it comes home with
 * probability δ or more. `average` plans as if the most likely world were true, in which no square
 * is a pit.
 */
export function solve(world: World, delta: number, average: boolean): Solution {
  const risk = average ? new Float64Array(world.risk.length) : world.risk;
  const { value, next } = waysHome(world, risk);
  const inside = Uint8Array.from(value, (v) => (v >= delta - TOLERANCE && v > 0 ? 1 : 0));
  return { value, inside, plan: bestPlan(world, risk, inside, next, delta) };
}

function bestPlan(
  world: World,
  risk: Float64Array,
  inside: Uint8Array,
  next: Int32Array,
  delta: number,
): Plan | null {
  const before = new Map([[world.rover, -1]]);
  const queue = [world.rover];
  let best: Plan | null = null;
  for (const square of queue) {
    const out: number[] = [];
    for (let s = square; s >= 0; s = before.get(s) as number) out.unshift(s);
    const back = homeward(next, square);
    const promised = firm([...out, ...back], risk);
    if (square !== world.rover && promised < delta - TOLERANCE) continue; // nor is what lies behind it
    const looks = out.flatMap((s) => [s, ...around(world, s)]).filter((s) => !world.seen[s]);
    const gain = new Set(looks).size;
    const better = best ? gain / (out.length - 1) - best.gain / (best.out.length - 1) : 1;
    if (gain && square !== world.rover && (better > TOLERANCE || (better > -TOLERANCE && gain > (best?.gain ?? 0))))
      best = { out, back, gain, promised, proven: firm([...out, ...back], world.risk) };
    for (const there of around(world, square)) {
      if (before.has(there) || !inside[there] || !works(world, square, there)) continue;
      before.set(there, square);
      queue.push(there);
    }
  }
  return best;
}

function homeward(next: Int32Array, from: number): number[] {
  const path = [from];
  for (let s = next[from] as number; s >= 0; s = next[s] as number) path.push(s);
  return path;
}

/** A source of random numbers in [0, 1) that is the same for the same seed (mulberry32). */
export function randoms(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Draw which squares are pits, in worlds that the belief holds possible. */
export function draw(world: World, count: number, seed: number): Uint8Array[] {
  const random = randoms(seed);
  return Array.from({ length: count }, () =>
    Uint8Array.from(world.risk, (risk) => (random() < risk ? 1 : 0)),
  );
}

/** Move the rover, and see the squares around it as they are in `truth`; return those that are new. */
export function step(world: World, to: number, truth: Uint8Array): { world: World; news: number[] } {
  const news = [to, ...around(world, to)].filter((square) => !world.seen[square]);
  const [height, risk, seen] = [world.height.slice(), world.risk.slice(), world.seen.slice()];
  for (const square of news) {
    seen[square] = 1;
    risk[square] = 0;
    if (truth[square]) height[square] = 1;
  }
  return { world: { ...world, height, risk, seen, rover: to }, news };
}
