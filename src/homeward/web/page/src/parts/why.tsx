// Why this move? The plan in a sentence, all actions as a compass rose, and the numbers.

import { useSignal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { Proposal, Verdict, Why, WhyAction } from "../api";
import type { Scene } from "../run/scene";
import { GoOn } from "./status";
import { Numbers } from "./numbers";
import { MIN_SUCCESS, beside, cellName, chance, compass, endWord, figure, isOfRun, keeps, least, levelName } from "../words";

type Sign = "chosen" | "unsafe" | "less" | "other" | "passed" | "plan" | "closest" | "closed";

const SIGNS: Record<Sign, { mark: string; text: string }> = {
  chosen: { mark: "✓", text: "chosen" },
  plan: { mark: "○", text: "in the plan, not chosen" },
  less: { mark: "=", text: "not worth more than the plan" },
  other: { mark: "=", text: "safe, not chosen" },
  passed: { mark: "·", text: "not chosen by the agent" },
  unsafe: { mark: "✕", text: "below δ" },
  closest: { mark: "≤", text: "not safer" },
  closed: { mark: "–", text: "not available" },
};

const SIGN_OF: Record<Verdict, Sign> = {
  chosen: "chosen",
  less_safe: "plan",
  waits: "plan",
  worth_less: "less",
  not_chosen: "other",
  not_taken: "passed",
  unsafe: "unsafe",
  no_safer: "closest",
  unavailable: "closed",
};

export function WhyPanel({ scene, who }: { scene: Scene; who?: string }) {
  const why = scene.why.value;
  const details = scene.run.details.value;
  const pointed = useSignal<number | null>(null);
  if (!details) return null;
  const waits = scene.slow.value && !scene.planning.value; // until it is asked for
  const stale = why !== null && why.step !== scene.step.value;
  const awaits = details.status === "waiting"; // the move of a mission is decided, not yet taken
  const ended = scene.step.value >= scene.run.count.value && (awaits || !scene.run.going.value);
  const decided = why !== null && why.action !== null;
  const shown = why?.actions.find((action) => action.action === (pointed.value ?? why.action));
  const rest = why && (reasonOf(why, details.shape?.[1] ?? 1) || why.reasons);
  const lost = ended && why !== null && !decided && details.trapped !== null;
  const head = ended && why && !decided ? "Why it ended" : "Why this move?";
  const goOn = async (steps: number): Promise<void> => {
    await scene.run.command("resume", { steps });
    if (scene.run.going.value) scene.cursor.setFollow(true);
  };
  return (
    <section
      class={`why card${stale ? " stale" : ""}`}
      aria-label={[head.replace("?", ""), who].filter(Boolean).join(", ")}
      aria-busy={stale}
      data-step={why?.step}
    >
      <header>
        <h2>{head}</h2>
        {decided && !ended && <span class="unit">next: step {why.step + 1}</span>}
        {who && <span class="unit">{who}</span>}
      </header>
      {!why && ended && <p class="ended fine">{endWord(details)}</p>}
      {!why && !waits && <p class="soft">{scene.noWhy.value || "Computing the plan again…"}</p>}
      {!why && waits && (
        <p class="soft">
          Planning takes a while on a map of this size.{" "}
          <button onClick={() => scene.ask()}>Compute the plan</button>
        </p>
      )}
      {!why && waits && scene.noWhy.value && <p class="ended fine">{scene.noWhy.value}</p>}
      {ended && !scene.run.gone.value && <GoOn run={details} act={goOn} />}
      {why && (
        <>
          <p class="sentence">{lost ? endWord(details) : why.sentence}</p>
          {decided && <Rose why={why} ended={ended} pointed={pointed} />}
          {ended && decided && <p class="ended fine">{endWord(details)}</p>}
          {why.way_home <= 0 && <p class="ended fine">From here no way home can be proven.</p>}
          {!why.agrees && why.recorded && (
            <p class="ended fine">
              This plan differs from the recorded one: another version of the software made the run.
            </p>
          )}
          {shown && <VerdictLine why={why} action={shown} ended={ended} />}
          {rest && !lost && <p class="reasons fine">{rest}</p>}
          {(decided || why.criteria.length > 0) && (
            <Criteria why={why} ofRun={isOfRun(details)} />
          )}
          {decided && (
            <>
              <details class="numbers fine">
                <summary>All numbers</summary>
                <Table why={why} />
              </details>
              <details class="fine">
                <summary>Full explanation</summary>
                <pre>{why.explanation}</pre>
              </details>
            </>
          )}
        </>
      )}
    </section>
  );
}

const RULES: Record<NonNullable<Proposal["rule"]>, string> = {
  near: "It prefers near looks to better ones farther away",
  path: "It compares whole paths by their gain minus 70 % of the best rate for each step, so a longer path with more to see can win",
  place: "It keeps its target until the rate of another is 10 % higher",
  home: "It is on its way home",
};

const MAX_FREE_SHARE = 1e-3; // of the risk that is left; the planner prices what is above it

/** Return why a move was chosen though a safe one has a higher rate; "" if there is none. */
export function preference({ proposal, actions, action }: Why): string {
  const own = actions.find((each) => each.action === action)?.exploration ?? 0;
  const higher = actions.filter(
    ({ verdict, exploration }) => verdict === "not_chosen" && (exploration ?? 0) > own * (1 + 1e-9),
  );
  higher.sort((one, other) => (other.exploration ?? 0) - (one.exploration ?? 0));
  const [best] = higher;
  if (!best || !proposal) return "";
  const more = `a look after ${best.name} has up to ${figure(best.exploration, 3)} ${rateUnit(proposal)}`;
  if (!proposal.rule) return `Of single looks, ${more}.`;
  return `${RULES[proposal.rule]}: ${more}.`;
}

/** Return where a decision leads and what is expected of it; "" where the run ends. */
function reasonOf(why: Why, columns: number): string {
  const { action, proposal, status, value, upper } = why;
  if (proposal) {
    const { path, gain, steps, rate } = proposal;
    const unit = proposal.unit ? ` ${proposal.unit}` : "";
    const heads = path.length > 1 ? `heads for ${cellName(path[path.length - 1] ?? 0, columns)} and ` : "";
    const within = figure(steps, 3) === "1" ? "1 step" : `${figure(steps, 3)} steps`;
    const net = (proposal.share ?? 0) > MAX_FREE_SHARE ? ", after the price of its risk," : "";
    const expected = `It ${heads}expects ${figure(gain, 3)}${unit}${net} within ${within}: ${figure(rate, 3)}${unit} per step.`;
    return `${expected} ${preference(why)}`.trim();
  }
  if (action === null) return "";
  if (status === "infeasible") return "No policy meets the safety level; this one comes closest.";
  return `The value of this plan is ${figure(value)}; the value of every safe plan is at most ${figure(upper)}.`;
}

/** Return what the explorer heads for and why, in one sentence; "" where the run ends. */
export function pursuitWord({ proposal, action, sentence, criteria }: Why, columns: number): string {
  if (action === null) return sentence;
  if (!proposal) return sentence;
  const { path, gain, steps } = proposal;
  const last = path[path.length - 1] ?? 0;
  const unit = proposal.unit ? ` ${proposal.unit}` : "";
  const within = figure(steps, 3) === "1" ? "one step" : `${figure(steps, 3)} steps`;
  const where = path.length > 1 ? `Heads for ${cellName(last, columns)}` : "Looks from here";
  const kept = criteria.some(({ kind }) => kind === "return");
  const home = kept ? ", and has a way home all along" : "";
  return `${where}: it expects ${figure(gain, 3)}${unit} within ${within}${home}.`;
}

/** Why one action was chosen or not; below a level, by how much. */
function VerdictLine({ why, action, ended }: { why: Why; action: WhyAction; ended: boolean }) {
  const sign = SIGN_OF[action.verdict];
  const tight = tightest(why, action);
  const short = sign === "unsafe" && tight && !keeps(tight.value, tight.level) ? tight : null;
  return (
    <p class={`verdict fine ${sign}`}>
      <b>{action.name}</b>: {ended && sign === "chosen" ? "would be chosen" : verdictOf(why, action)}
      {short && `, ${beside(short.value, short.level)} < ${levelName(short.level)}`}
      {action.weight > 0 && action.weight < 1
        ? `; ${figure(100 * action.weight, 3)} % of the plan starts with it`
        : ""}
      {isRefused(why, action) && `; a look from there: ${figure(action.look, 3)} ${why.proposal?.unit ?? ""}`.trimEnd()}
      .
    </p>
  );
}

/** Return whether no rate is known of an action, since it was refused; its look is told instead. */
function isRefused(why: Why, action: WhyAction): boolean {
  return why.proposal !== null && action.verdict === "unsafe" && action.look !== null;
}

/** Return why an action was chosen or not. */
function verdictOf(why: Why, action: WhyAction): string {
  if (!why.proposal || action.verdict !== "not_chosen" || (!action.dr && !action.dc)) return action.words;
  if (action.leaves < MIN_SUCCESS) return `safe, but the move works with probability ${chance(action.leaves)} only`;
  const rate = `${figure(action.exploration, 3)} ${rateUnit(why.proposal)} by the best single look`;
  if (!isPriced(why, action)) return `safe, ${rate}`;
  const share = `${figure(100 * (action.share ?? 0), 2)} % of the risk that is left`;
  return action.exploration
    ? `safe; its way home would spend ${share}. With the price of that, ${rate}`
    : `safe, but its way home would spend ${share}. The price of that is more than a look gains`;
}

/** Return whether the planner subtracts a price of risk from the gain of an action. */
function isPriced(why: Why, { share, verdict }: WhyAction): boolean {
  return why.proposal !== null && verdict === "not_chosen" && (share ?? 0) > MAX_FREE_SHARE;
}

/** Return the unit of a rate. */
function rateUnit(proposal: Proposal): string {
  return `${proposal.unit ?? "of the bonus"} per step`;
}

/** Return the safety value with the smallest margin above its level, and the level. */
function tightest(why: Why, action: WhyAction): { value: number; level: number } | null {
  let found: { value: number; level: number } | null = null;
  why.criteria.forEach(({ level, kind }, k) => {
    const value = action.safety[k];
    if (value === undefined || kind === "earn") return;
    if (!found || value - level < found.value - found.level) found = { value, level };
  });
  return found;
}

function Criteria({ why, ofRun }: { why: Why; ofRun: boolean }) {
  if (!why.criteria.length)
    return <p class="soft fine">No promise: this explorer has no safety criterion.</p>;
  return (
    <ul class="criteria">
      {why.criteria.map((criterion) => {
        const { bound, kept_bound: kept_with, level, kind } = criterion;
        const kept = keeps(bound, level);
        return (
          <li key={criterion.name} class={kept ? "kept" : "broken"}>
            <span>
              {criterion.name}
              {ofRun && kind === "return" ? ", over the whole run" : ""}
            </span>
            <span class="num">
              <b data-value={String(bound)}>
                {kind === "earn" ? least(bound) : beside(bound, level)}
              </b>{" "}
              {kept ? "≥" : "<"} {kind === "earn" ? figure(level) : levelName(level)}
              {kept && kind !== "earn" && !keeps(kept_with, level) && (
                <span class="soft">; with this move {beside(kept_with, level)}</span>
              )}
            </span>
          </li>
        );
      })}
    </ul>
  );
}

const [INNER, OUTER, GAP] = [42, 160, 0.028];

type Pointed = Signal<number | null>; // the action under the pointer

function Rose({ why, ended, pointed }: { why: Why; ended: boolean; pointed: Pointed }) {
  const drawn = why.actions.filter((action) => action.dr != null);
  const others = why.actions.filter((action) => action.dr == null);
  return (
    <figure class="rose">
      <svg
        viewBox="-172 -172 344 344"
        role="img"
        aria-label={`Compass rose of ${why.actions.length} actions; the table “All numbers” has the same content.`}
      >
        {drawn.map((action) => (
          <Petal key={action.action} why={why} action={action} pointed={pointed} />
        ))}
      </svg>
      {others.length > 0 && (
        <p class="soft">{others.map((action) => action.name).join(", ")}: see the numbers.</p>
      )}
      <figcaption class="fine soft">
        <span>
          In each direction: the probability that the move succeeds; <b>e</b>,{" "}
          {why.proposal
            ? `at best, ${rateUnit(why.proposal)}${why.actions.some((each) => isPriced(why, each)) ? " after the price of risk" : ""}: of a single look, and of the chosen move's plan`
            : "its exploration value"}
          {why.proposal || wholeOf(why) === null ? "" : " relative to the plan"}
          {why.criteria.length > 0 && (
            <>
              ; <b>s</b>, {why.proposal ? "the way home after it" : "its safety value"}
            </>
          )}
          {ignoresHome(why) && (
            <>
              ; <b>s</b>, the way home after it, which this explorer does not look at
            </>
          )}
          .
        </span>
        <span class="signs row">
          {(Object.keys(SIGNS) as Sign[])
            .filter((sign) => why.actions.some((action) => SIGN_OF[action.verdict] === sign))
            .map((sign) => (
              <span key={sign} class={`sign ${sign}`}>
                <i>{SIGNS[sign].mark}</i>{" "}
                {ended && sign === "chosen" ? "would be chosen" : SIGNS[sign].text}
              </span>
            ))}
        </span>
      </figcaption>
    </figure>
  );
}

/** One action of the rose: a sector in its direction, or the disc in the middle for staying. */
function Petal({ why, action, pointed }: { why: Why; action: WhyAction; pointed: Pointed }) {
  const on = pointed.value === action.action;
  const stays = !action.dr && !action.dc;
  const turn = Math.atan2(action.dr ?? 0, action.dc ?? 0);
  const [x, y] = stays ? [0, 0] : [110 * Math.cos(turn), 110 * Math.sin(turn)];
  const sign = SIGN_OF[action.verdict];
  const safe = safety(why, action);
  const lines = [
    { dy: stays ? -12 : -20, class: "direction", text: `${compass(action)} ${SIGNS[sign].mark}` },
    ...(stays ? [] : [{ dy: -3, class: "chance", text: chance(action.leaves, 2) }]),
    {
      dy: stays ? 4 : 13,
      class: "",
      text: isRefused(why, action) ? `look ${figure(action.look, 2)}` : `e ${worth(why, action)}`,
    },
    { dy: stays ? 18 : 28, class: safe.length > 6 ? "long" : "", text: `s ${safe}` },
  ];
  const told = action.safety.length > 0 || ignoresHome(why);
  const shown = sign === "closed" ? 1 : told ? lines.length : lines.length - 1;
  return (
    <g
      class={`petal ${sign}${on ? " on" : ""}${action.leaves > 0 || stays ? "" : " never"}`}
      data-action={action.action}
      onPointerEnter={() => (pointed.value = action.action)}
      onPointerLeave={() => (pointed.value = null)}
    >
      <title>{`${action.name}: ${verdictOf(why, action)}`}</title>
      {stays ? <circle r={INNER - 5} /> : <path d={sector(turn)} />}
      {lines.slice(0, shown).map((line) => (
        <text key={line.dy} x={x} y={y + line.dy} class={line.class}>
          {line.text}
        </text>
      ))}
    </g>
  );
}

/** Return the path of a sector of the rose around an angle. */
function sector(turn: number): string {
  const [from, to] = [turn - Math.PI / 8 + GAP, turn + Math.PI / 8 - GAP];
  const at = (radius: number, angle: number): string =>
    `${(radius * Math.cos(angle)).toFixed(2)} ${(radius * Math.sin(angle)).toFixed(2)}`;
  const outer = `L${at(OUTER, from)}A${OUTER} ${OUTER} 0 0 1 ${at(OUTER, to)}`;
  return `M${at(INNER, from)}${outer}L${at(INNER, to)}A${INNER} ${INNER} 0 0 0 ${at(INNER, from)}Z`;
}

const VALUE_TOLERANCE = 1e-12; // below it the planner counts a value as 0

/** Return the plan's exploration value, null if it is not positive. */
function wholeOf(why: Why): number | null {
  return why.value !== null && why.value > VALUE_TOLERANCE ? why.value : null;
}

/** Format an action's rate, or its exploration value relative to the plan's. */
function worth(why: Why, action: WhyAction): string {
  const whole = wholeOf(why);
  if (action.exploration === null) return "–";
  if (why.proposal || whole === null)
    return figure(Math.abs(action.exploration) < VALUE_TOLERANCE ? 0 : action.exploration, 3);
  const percent = 100 * (action.exploration / whole - 1);
  const far = Math.abs(percent);
  if (far < 5e-4) return "±0 %";
  return `${percent > 0 ? "+" : "−"}${Number(far.toPrecision(far < 1 ? 2 : 3))} %`;
}

/** Return whether a run has no safety criterion, and ways home are told all the same. */
function ignoresHome(why: Why): boolean {
  return !why.criteria.length && why.actions.some(({ way_home }) => way_home !== null);
}

/** Format an action's safety value, the one with the smallest margin; without any, its way home. */
function safety(why: Why, action: WhyAction): string {
  if (ignoresHome(why)) return beside(action.way_home ?? 0, null, 3);
  const tight = tightest(why, action);
  if (!tight) return least(Math.min(...action.safety), 3);
  return beside(tight.value, tight.level, 3).replace(/(\.\d*?)0+$/, "$1");
}

function Table({ why }: { why: Why }) {
  const safety = why.criteria.map(({ name }, k) => (
    <span title={name}>
      {why.proposal ? "way home" : "safety"}
      {why.criteria.length > 1 ? ` ${k + 1}` : ""}
    </span>
  ));
  const worth = why.proposal ? rateUnit(why.proposal) : "exploration";
  const ignored = ignoresHome(why);
  if (ignored) safety.push(<span title="This explorer does not look at it">way home</span>);
  const heads = ["move", "success", worth, ...safety, "verdict"];
  return (
    <Numbers label="All numbers of this decision" heads={heads} text>
      {why.actions.map((action) => {
        const sign = SIGN_OF[action.verdict];
        const cells: [number | null | undefined, string][] = [
          [action.leaves, chance(action.leaves, 3)],
          isRefused(why, action) ? [null, "–"] : [action.exploration, figure(action.exploration)],
          ...why.criteria.map(({ kind, level }, k): [number | undefined, string] => {
            const value = action.safety[k];
            return [value, kind === "earn" ? least(value ?? 0) : beside(value ?? 0, level)];
          }),
          ...(ignored ? [[action.way_home, beside(action.way_home ?? 0, null)] as [number | null, string]] : []),
        ];
        return (
          <tr key={action.action} class={sign} data-action={action.action}>
            <th scope="row">{action.name}</th>
            {cells.map(([value, text], k) => (
              <td key={k} data-value={String(value)}>
                {sign === "closed" ? "–" : text}
              </td>
            ))}
            <td class="text">{action.words}</td>
          </tr>
        );
      })}
    </Numbers>
  );
}
