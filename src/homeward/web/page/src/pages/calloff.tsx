// Call it off: a small world in which one drives δ, and a hundred rovers walk home.

import { computed, effect, signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Hundred } from "../calloff/hundred";
import type { Fate } from "../calloff/hundred";
import { Walk } from "../calloff/ghosts";
import { draw as drawStage } from "../calloff/stage";
import { draw, makeWorld, solve, step } from "../calloff/world";
import type { Plan } from "../calloff/world";
import { to } from "../link";
import { Level } from "../parts/level";
import { dark } from "../parts/theme";
import { beside, hundredths, scatterWord } from "../words";

const GHOSTS = 100;
const FIRST = 10; // seed before the first call; the next one gives a draw near the truth
const TRUTH = 7; // seed of the real world, in which "step once" walks

class Game {
  readonly world = signal(makeWorld());
  readonly delta = signal(0.9);
  readonly average = signal(false);
  readonly solution = computed(() => solve(this.world.value, this.delta.value, this.average.value));
  readonly worlds = signal(draw(this.world.peek(), GHOSTS, FIRST));
  readonly possible = signal<boolean[]>(Array<boolean>(GHOSTS).fill(true));
  readonly walk = new Walk();
  readonly news = signal<number[]>([]);
  readonly said = signal("");
  private readonly drawn = { draws: 0, home: 0 }; // by this plan so far
  private readonly truth: Uint8Array = this.firmTruth();
  private seed = FIRST;
  private replaced = 0; // impossible worlds in whose place others were drawn

  /** Which of the hundred came home, fell, or became impossible: a text, which rarely changes. */
  readonly fates = computed((): string => {
    const walked = this.walk.fates.value;
    if (walked) return walked;
    return this.possible.value.map((possible): Fate => (possible ? "waiting" : "gone")).join(" ");
  });

  /** Let a ghost walk in each possible world: out to where the plan turns, and home from there. */
  callOff(): void {
    const { plan } = this.solution.value;
    if (!plan) return;
    this.replaced = GHOSTS - count(this.possible.value);
    this.worlds.value = draw(this.world.value, GHOSTS, ++this.seed);
    this.possible.value = Array<boolean>(GHOSTS).fill(true);
    this.news.value = [];
    const path = [...plan.out, ...plan.back.slice(1)];
    const lost = this.worlds.value.map((pits) => path.findIndex((square) => pits[square]));
    this.walk.begin(path, lost, plan.out.length - 1, this.seed, () => this.tell(plan));
  }

  /** Take one step of the plan in the real world, and forget the worlds that it refutes. */
  stepOnce(): void {
    const { plan } = this.solution.value;
    const there = plan?.out[1];
    if (there === undefined) return;
    this.walk.clear();
    const { world, news } = step(this.world.value, there, this.truth);
    const before = this.possible.value;
    const held = this.worlds.value.map(
      (pits, i) => before[i] === true && news.every((square) => pits[square] === this.truth[square]),
    );
    const gone = count(before) - count(held);
    this.drawn.draws = this.drawn.home = 0;
    const size = count(this.solution.value.inside);
    this.world.value = world;
    this.possible.value = held;
    this.news.value = news;
    const grown = count(this.solution.value.inside) - size;
    const pit = news.filter((square) => this.truth[square]).length;
    this.said.value = news.length
      ? `${many(news.length, "square")} seen${pit ? `, ${many(pit, "pit")}` : ""}. ${many(gone, "world")} became impossible.` +
        (grown ? ` The region with a way home ${grown > 0 ? "grew" : "shrank"} by ${many(Math.abs(grown), "square")}.` : "")
      : "Nothing new was seen on this step.";
  }

  reset(): void {
    this.world.value = makeWorld();
    this.worlds.value = draw(this.world.value, GHOSTS, this.seed);
    this.possible.value = Array<boolean>(GHOSTS).fill(true);
    this.clear();
  }

  /** Remove the ghosts: they walked another plan. */
  clear(): void {
    this.walk.clear();
    this.news.value = [];
    this.said.value = "";
    this.drawn.draws = this.drawn.home = 0;
  }

  private tell(plan: Plan): void {
    const home = this.walk.ghosts.value.filter(({ lost }) => lost < 0).length;
    const least = hundredths(plan.promised);
    this.drawn.draws++;
    this.drawn.home += home;
    const { draws } = this.drawn;
    const mean = (this.drawn.home / draws).toFixed(1);
    const all = draws > 1 ? ` Mean of ${draws} draws: ${mean}.` : "";
    const others = this.replaced ? ` ${many(this.replaced, "world")} had become impossible and were drawn anew.` : "";
    this.said.value = this.average.value
      ? `Promised ${least}, this draw ${home}.${all} The plan was made for the average world, and no real world is average.${others}`
      : `Proven ≥ ${least}, this draw ${home}.${all}${scatterWord(plan.proven)}${others}`;
  }

  /** Return a real world that the belief holds possible, in which the crater is firm. */
  private firmTruth(): Uint8Array {
    return draw(makeWorld(), 1, TRUTH)[0] as Uint8Array;
  }
}

function count(marks: ArrayLike<number | boolean>): number {
  return Array.from(marks).filter(Boolean).length;
}

function many(number: number, what: string): string {
  return `${number} ${what}${number === 1 ? "" : "s"}`;
}

export function CallOffPage() {
  const game = useMemo(() => new Game(), []);
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return undefined;
    const paint = (): void =>
      drawStage(element, {
        world: game.world.value,
        solution: game.solution.value,
        walk: game.walk,
        news: game.news.value,
        dark: dark.value,
      });
    const stop = effect(paint);
    const watch = new ResizeObserver(paint);
    watch.observe(element);
    return () => {
      stop();
      watch.disconnect();
      game.walk.stop();
    };
  }, [game]);
  const world = game.world.value;
  const { plan, inside, value } = game.solution.value;
  const average = game.average.value;
  const fates = game.fates.value.split(" ") as Fate[];
  const home = fates.filter((fate) => fate === "home").length;
  const walked = game.walk.ghosts.value.length > 0;
  return (
    <main class="calloff stack" id="main">
      <h1>Call it off</h1>
      <p class="lead">
        The rover wants to see the squares marked “?”. Each may be a pit that can't be left; the redder
        it is, the likelier. The rover goes where it sees the most squares per step. The ledge (light) is a one-way drop
        into a crater: home is only through squares that nobody has seen. Drag δ: the higher it is, the
        less risk the rover takes, and near 1 it stays on ground that was seen.
      </p>
      <div class="calloff-parts">
        <div
          class="calloff-stage"
          data-plan={JSON.stringify(plan)}
          data-world={JSON.stringify({ ...world, height: [...world.height], risk: [...world.risk], seen: [...world.seen] })}
          data-values={JSON.stringify([...value])}
          data-walking={game.walk.walking.value}
        >
          <canvas
            ref={canvas}
            style={{ aspectRatio: `${world.columns} / ${world.rows}` }}
            role="img"
            aria-label={
              plan
                ? `Map: the plan takes ${plan.out.length - 1} steps out, would see ${plan.gain} squares, and comes home with probability ${beside(plan.proven, null, 3)}. ${count(inside)} squares have a way home at this level.`
                : "Map: nothing that is left to see is safe at this level."
            }
          />
          <p class="legend row fine soft">
            <span class="swatch">
              <i class="mark-contour" />
              {average
                ? "inside: way home promised on the average world only"
                : "inside: way home with probability δ"}
            </span>
            <span class="swatch"><i class="outside" />darker: no such way home</span>
            <span class="swatch"><i class="rock" />rock</span>
            <span class="swatch"><i class="mark-heads" />plan</span>
            {plan && plan.back.length > 1 && (
              <span class="swatch"><i class="mark-way" />way home from where it turns</span>
            )}
          </p>
        </div>
        <div class="calloff-side stack">
          <Level
            level={game.delta}
            changed={() => game.clear()}
            disabled={average}
          />
          <label class="row toggle">
            <input
              type="checkbox"
              checked={average}
              onChange={(event) => {
                game.average.value = event.currentTarget.checked;
                game.clear();
              }}
            />
            <span>
              Plan on the average world
              <small class="block">as if no square were a pit: each is more likely none</small>
            </span>
          </label>
          <p class="fine soft plan-said" aria-live="polite">
            {planWord(plan, average)}
          </p>
          <div class="row">
            <button class="main" disabled={!plan} onClick={() => game.callOff()}>
              Call it off now
            </button>
            <button disabled={!plan} onClick={() => game.stepOnce()}>
              Step once
            </button>
            <button onClick={() => game.reset()}>Start again</button>
          </div>
          <p class="fine soft">
            A hundred ghosts walk the plan to its ring, are called off, and walk home, each in a world drawn
            from what the rover knows. Red: where ghosts fell, and how many.
          </p>
          <dl class="counters">
            <div class={average ? "bad" : "good"}>
              <dt>{average ? "promised" : "proven ≥"}</dt>
              <dd>{plan ? hundredths(plan.promised) : "–"}</dd>
            </div>
            <div>
              <dt>{game.walk.walking.value ? "home so far" : "home, this draw"}</dt>
              <dd>{walked ? home : "–"}</dd>
            </div>
          </dl>
          <Hundred fates={fates} />
          <p role="status" class="said">
            {game.said.value}
          </p>
        </div>
      </div>
      <p class="soft">
        <a href={to("stories")}>Three counter-examples and the budget</a> are told in the same way.
      </p>
    </main>
  );
}

function planWord(plan: Plan | null, average: boolean): string {
  if (!plan) return "Nothing that is left to see is safe at this level: the rover stays at home.";
  const steps = plan.out.length - 1;
  const rate = (plan.gain / steps).toFixed(2);
  const sees = `It would see ${many(plan.gain, "square")} in ${many(steps, "step")} (${rate} per step)`;
  return average
    ? `${sees}. In the average world it surely comes home; in truth, in about ${Math.round(100 * plan.proven)} of 100 worlds.`
    : `${sees}, and ${plan.promised >= 1 ? "come home in every world" : `on average come home in at least ${hundredths(plan.promised)} of 100 worlds`}.`;
}
