// The paper's three counter-examples: small graphs, and what each definition of safety says of them.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Counterexample } from "../api";
import { Hundred } from "../calloff/hundred";
import type { Fate } from "../calloff/hundred";
import { randoms } from "../calloff/world";
import { Numbers } from "../parts/numbers";
import { examples, loadExamples } from "../run/starting";
import { beside, chance, figure, keeps, scatterWord } from "../words";

export function StoriesPage() {
  useEffect(loadExamples, []);
  return (
    <main class="stories-page stack" id="main">
      <h1>Three counter-examples</h1>
      <p class="lead">
        Each begins with a rule of safety that sounds right, and shows why it is not. Circles are
        places, arrows are moves, and the explorer may be called home before any move. The numbers
        are probabilities of getting home: by that rule, in truth, and as the planner proves it,
        which is never above the truth.
      </p>
      {examples.value === null && <p class="soft">Loading…</p>}
      {examples.value?.counterexamples.map((story) => (
        <Story key={story.name} story={story} />
      ))}
      <Budget />
    </main>
  );
}

function Story({ story }: { story: Counterexample }) {
  return (
    <section class="card story stack" aria-label={story.title}>
      <h2>{story.title}</h2>
      <p>{story.story}</p>
      <div class="story-parts">
        <div class="graphs">
          {story.worlds.map((_, i) => (
            <Graph key={i} story={story} world={i} />
          ))}
        </div>
        <Numbers
          label={`Numbers of ${story.title}`}
          heads={["plan", "by the rule", "in truth", "proven"]}
          after={
            <p class="soft fine">
              ✓ safe enough at δ = {story.delta}; ✕ not. Before each move the explorer is called home
              with probability {figure(1 - story.discount)}, also before the first, when it is at home.
              {story.rows.some((row) => row.bound === 0 && (row.exact ?? 0) > 0) &&
                " Proven 0: the planner subtracts a correction wherever worlds differ, and here it takes all."}
            </p>
          }
        >
          {story.rows.map((row) => (
            <tr key={row.label}>
              <th scope="row">{row.label}</th>
              {[exactOne(row.naive), row.exact, row.bound].map((value, i) => (
                <td key={i} class={value === null ? "" : keeps(value, story.delta, SOLVED) ? "yes" : "no"}>
                  {value === null
                    ? "–"
                    : `${beside(value, story.delta, 3)} ${keeps(value, story.delta, SOLVED) ? "✓" : "✕"}`}
                </td>
              ))}
            </tr>
          ))}
        </Numbers>
      </div>
      <Walks story={story} />
    </section>
  );
}

/** Return 1 for a probability by the rule that differs from it by rounding alone. */
function exactOne(value: number | null): number | null {
  return value !== null && value > 1 - 1e-9 ? 1 : value;
}

let draws = 0;

/** Send a hundred explorers by each plan, each in a world drawn from the belief. */
function Walks({ story }: { story: Counterexample }) {
  const walked = useSignal<Fate[][]>([]);
  const rows = story.rows.filter((row) => row.exact !== null);
  const results = useRef<HTMLDivElement>(null);
  const send = (): void => {
    const random = randoms(++draws);
    walked.value = rows.map((row) => hundred(row.exact ?? 0, random));
    requestAnimationFrame(() => results.current?.scrollIntoView({ block: "nearest" }));
  };
  return (
    <div class="walks stack">
      <p>
        <button onClick={send}>Call it off: send a hundred by each plan</button>
      </p>
      {walked.value.length > 0 && (
        <div class="walk-list" ref={results}>
          {rows.map((row, i) => (
            <div key={row.label}>
              <h3>{row.label}</h3>
              <p class="fine" role="status">
                {row.naive !== null && <>the rule promises {whole(row.naive)}, </>}
                {row.bound !== null && <>proven ≥ {whole(row.bound)}, </>}
                this draw <b>{walked.value[i]?.filter((fate) => fate === "home").length}</b>.
                {scatterWord(row.exact ?? 0)}
              </p>
              <Hundred fates={walked.value[i] ?? []} />
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

function whole(value: number): number {
  return Math.floor(100 * value + 1e-9);
}

function hundred(chance: number, random: () => number): Fate[] {
  return Array.from({ length: 100 }, () => (random() < chance ? "home" : "lost"));
}

const SOLVED = 1e-8; // shortfall of a plan that is solved to its level
const LEVEL = 0.98; // of each plan, as in the paper's experiments on Mars

/** Many plans, each at its own level: what is left of a promise. */
function Budget() {
  const plans = useSignal(50);
  const left = LEVEL ** plans.value;
  const random = randoms(plans.value);
  return (
    <section class="card story stack" aria-label="The budget">
      <h2>The budget</h2>
      <p>
        Each plan is safe at δ = {LEVEL}, and the explorer makes a plan at every step. If each plan
        uses up what δ allows, the risks multiply: after n plans it comes home with probability {LEVEL}ⁿ.
        A budget for the whole run risks 1 − δ in all, however many steps it takes.
      </p>
      <label class="row">
        <span>
          Plans <b class="num plan-count">{plans.value}</b>
        </span>
        <input
          type="range"
          min={1}
          max={300}
          value={plans.value}
          onInput={(event) => (plans.value = Number(event.currentTarget.value))}
        />
      </label>
      <div class="walk-list">
        <div>
          <h3>A level for each plan</h3>
          <p class="fine">
            promised {whole(LEVEL)} of 100 by each plan; after {plans.value} of them, {figure(100 * left, 3)} of 100 come home
            on average.{scatterWord(left)}
          </p>
          <Hundred fates={hundred(left, random)} />
        </div>
        <div>
          <h3>A budget for the whole run</h3>
          <p class="fine">
            proven ≥ {whole(LEVEL)} of 100, after any number of plans.{scatterWord(LEVEL)}
          </p>
          <Hundred fates={hundred(LEVEL, random)} />
        </div>
      </div>
    </section>
  );
}

const [UNIT, DISC] = [88, 15];
const LETTER = 3.4; // half the width of one, in a label

function Graph({ story, world }: { story: Counterexample; world: number }) {
  const { states } = story;
  const one = story.worlds[world];
  if (!one) return null;
  const place = (s: number): [number, number] => [
    (states[s]?.x ?? 0) * UNIT,
    -(states[s]?.y ?? 0) * UNIT,
  ];
  const number = (s: string): number => states.findIndex((state) => state.name === s);
  const merged = new Map<string, { from: number; to: number; label: string }>();
  for (const edge of one.edges) {
    const [from, target] = [number(edge.from), number(edge.to)];
    const label = edge.p < 1 ? `${edge.action} ${chance(edge.p, 2)}` : edge.action;
    const known = merged.get(`${from},${target}`);
    if (known) known.label += `, ${label}`;
    else merged.set(`${from},${target}`, { from, to: target, label });
  }
  const spots = states.map((_, s) => place(s));
  const xs = spots.map(([x]) => x);
  const ys = spots.map(([, y]) => y);
  const [left, top] = [Math.min(...xs) - 52, Math.min(...ys) - 62];
  const size = [Math.max(...xs) + 52 - left, Math.max(...ys) + 62 - top];
  const said = [...merged.values()]
    .map((a) => `${states[a.from]?.name} by ${a.label} to ${states[a.to]?.name}`)
    .join("; ");
  const drawn = [...merged.values()].map((arrow) => ({
    key: `${arrow.from},${arrow.to}`,
    label: arrow.label,
    ...curved(place(arrow.from), place(arrow.to), arrow.label),
  }));
  return (
    <figure>
      <svg
        viewBox={`${left} ${top} ${size[0]} ${size[1]}`}
        role="img"
        aria-label={`World ${world + 1}: ${said}`}
        style={{ maxWidth: `${(size[0] ?? 0) * 1.15}px` }}
      >
        <defs>
          <marker
            id={`tip-${story.name}-${world}`}
            viewBox="0 0 8 8"
            refX="7"
            refY="4"
            markerWidth="7"
            markerHeight="7"
            orient="auto-start-reverse"
          >
            <path d="M0 0 8 4 0 8z" class="tip" />
          </marker>
        </defs>
        {drawn.map(({ key, path }) => (
          <path key={key} class="edge" d={path} marker-end={`url(#tip-${story.name}-${world})`} />
        ))}
        {states.map((state, s) => {
          const [x, y] = place(s);
          return (
            <g key={state.name} class={s === 0 ? "state home" : "state"}>
              <circle cx={x} cy={y} r={DISC} />
              <text x={x} y={y + 5}>
                {state.name}
              </text>
            </g>
          );
        })}
        {drawn.map(({ key, at: [x, y], label }) => (
          <text key={key} class="edge" x={x} y={y}>
            {label}
          </text>
        ))}
      </svg>
      <figcaption class="unit">
        {story.worlds.length > 1
          ? `World ${world + 1}, probability ${chance(one.weight, 2)}`
          : "The only world"}
        ; home is {states[0]?.name}
      </figcaption>
    </figure>
  );
}

/** Return the path of an arrow, and the position of its label on the outer side. */
function curved(
  [ax, ay]: [number, number],
  [bx, by]: [number, number],
  label: string,
): { path: string; at: [number, number] } {
  if (ax === bx && ay === by) {
    const top = ay - DISC + 1;
    return {
      path: `M${ax - 8} ${top}C${ax - 26} ${ay - 48} ${ax + 26} ${ay - 48} ${ax + 8} ${top}`,
      at: [ax, ay - 44],
    };
  }
  const length = Math.hypot(bx - ax, by - ay);
  const [ux, uy] = [(bx - ax) / length, (by - ay) / length];
  const bend = 16; // to its own right, so that there and back are two lines
  const [mx, my] = [(ax + bx) / 2 - uy * bend, (ay + by) / 2 + ux * bend];
  const cut = (x: number, y: number): [number, number] => {
    const far = Math.hypot(mx - x, my - y);
    return [x + ((mx - x) / far) * (DISC + 1), y + ((my - y) / far) * (DISC + 1)];
  };
  const [sx, sy] = cut(ax, ay);
  const [ex, ey] = cut(bx, by);
  const away = bend / 2 + 10 * Math.abs(ux) + (4 + LETTER * label.length) * Math.abs(uy);
  return {
    path: `M${sx} ${sy}Q${mx} ${my} ${ex} ${ey}`,
    at: [(ax + bx) / 2 - uy * away, (ay + by) / 2 + ux * away + 4],
  };
}
