// Why this move? The neighbours as a compass rose, the plan's own sentence, and the numbers.

import { useSignal } from "@preact/signals";
import type { Details, Proposal, Verdict, Why, WhyAction } from "../api";
import type { Scene } from "../run/scene";
import { beside, chance, compass, figure, isOfRun, keeps, levelName, readable } from "../words";

type Sign = "chosen" | "unsafe" | "less" | "other" | "plan" | "closest" | "closed";

const SIGNS: Record<Sign, { mark: string; text: string }> = {
  chosen: { mark: "✓", text: "chosen" },
  plan: { mark: "○", text: "in the plan, not taken" },
  less: { mark: "=", text: "worth no more than the plan" },
  other: { mark: "=", text: "safe, not chosen" },
  unsafe: { mark: "✕", text: "below δ" },
  closest: { mark: "≤", text: "no safer" },
  closed: { mark: "–", text: "can't be chosen" },
};

const SIGN_OF: Record<Verdict, Sign> = {
  chosen: "chosen",
  less_safe: "plan",
  waits: "plan",
  worth_less: "less",
  not_chosen: "other",
  unsafe: "unsafe",
  no_safer: "closest",
  unavailable: "closed",
};

export function WhyPanel({ scene, who }: { scene: Scene; who?: string }) {
  const why = scene.why.value;
  const details = scene.run.details.value;
  const pointed = useSignal<number | null>(null);
  if (!details) return null;
  const stale = why !== null && why.step !== scene.step.value;
  const ended = scene.step.value >= scene.run.count.value && !scene.run.going.value;
  const decided = why !== null && why.action !== null;
  const shown = why?.actions.find((action) => action.action === (pointed.value ?? why.action));
  const [first, rest] = parted(readable(why?.sentence ?? ""));
  const head = !ended ? "Why this move?" : why && !decided ? "Why it ended" : "What it would do next";
  return (
    <section
      class={`why card${stale ? " stale" : ""}`}
      aria-label={[ended ? head : "Why this move", who].filter(Boolean).join(", ")}
      aria-busy={stale}
      data-step={why?.step}
    >
      <header>
        <h2>{head}</h2>
        {who && <span class="unit">{who}</span>}
      </header>
      {!why && ended && <p class="ended">{endWord(details)}</p>}
      {!why && scene.slow.value && !scene.planning.value && (
        <p class="soft">
          On a map of this size a plan takes a while.{" "}
          <button onClick={() => scene.ask()}>Plan it again</button>
        </p>
      )}
      {!why && (!scene.slow.value || scene.planning.value) && (
        <p class="soft">{scene.noWhy.value || "Planning again what was planned here…"}</p>
      )}
      {!why && scene.slow.value && !scene.planning.value && scene.noWhy.value && (
        <p class="ended">{scene.noWhy.value}</p>
      )}
      {why && (
        <>
          <p class="sentence">{first}</p>
          {decided && (
            <Rose
              why={why}
              ended={ended}
              pointed={pointed.value}
              point={(action) => (pointed.value = action)}
            />
          )}
          {ended && decided && <p class="ended">{endWord(details)}</p>}
          {why.way_home <= 0 && <p class="ended">From here no way home can be proven.</p>}
          {!why.agrees && why.recorded && (
            <p class="ended">
              Planned again, this is not what was recorded: another version of the software made the
              run.
            </p>
          )}
          {shown && <VerdictLine why={why} action={shown} ended={ended} />}
          {rest && <p class="reasons">{rest}</p>}
          {(decided || why.criteria.length > 0) && (
            <Criteria why={why} ofRun={isOfRun(details)} />
          )}
          {decided && (
            <>
              <details class="numbers">
                <summary>All numbers</summary>
                <Table why={why} />
              </details>
              <details>
                <summary>The whole explanation</summary>
                <pre>{why.explanation}</pre>
              </details>
            </>
          )}
        </>
      )}
    </section>
  );
}

/** Part a text after its first sentence. */
function parted(text: string): [string, string] {
  const end = text.search(/\.\s/);
  return end < 0 ? [text, ""] : [text.slice(0, end + 1), text.slice(end + 2)];
}

/** Say of one action why it is taken or not; below a level, by how much. */
function VerdictLine({ why, action, ended }: { why: Why; action: WhyAction; ended: boolean }) {
  const sign = SIGN_OF[action.verdict];
  const tight = tightest(why, action);
  const short = sign === "unsafe" && tight && !keeps(tight.value, tight.level) ? tight : null;
  return (
    <p class={`verdict ${sign}`}>
      <b>{action.name}</b>: {ended && sign === "chosen" ? "would be chosen" : verdictOf(why, action)}
      {short && `, ${beside(short.value, short.level)} < ${levelName(short.level)}`}
      {action.weight > 0 && action.weight < 1
        ? `; ${figure(100 * action.weight, 3)} % of the plan starts with it`
        : ""}
      .
    </p>
  );
}

/** Say why an action was not taken; a rate may be as good as the one that is pursued already. */
function verdictOf(why: Why, action: WhyAction): string {
  if (!why.proposal || action.verdict !== "not_chosen") return action.words;
  return `safe enough, at best ${figure(action.exploration, 3)} ${rateUnit(why.proposal)}`;
}

/** Name the unit of a rate. */
function rateUnit(proposal: Proposal): string {
  return `${proposal.unit ?? "of the bonus"} per step`;
}

/** Give the safety value that has least to spare above its level, and the level. */
function tightest(why: Why, action: WhyAction): { value: number; level: number } | null {
  let found: { value: number; level: number } | null = null;
  why.criteria.forEach(({ level, kind }, k) => {
    const value = action.safety[k];
    if (value === undefined || kind === "earn") return;
    if (!found || value - level < found.value - found.level) found = { value, level };
  });
  return found;
}

function endWord({ status, why }: Details): string {
  if (status !== "finished") return `The run is ${status} here.`;
  return ["The run ended here.", why].filter(Boolean).join(" ");
}

function Criteria({ why, ofRun }: { why: Why; ofRun: boolean }) {
  if (!why.criteria.length)
    return <p class="soft none-kept">Nothing is kept safe: this explorer has no criterion.</p>;
  return (
    <ul class="criteria">
      {why.criteria.map((criterion) => {
        const { bound, kept_bound: kept_with, level, kind } = criterion;
        const kept = keeps(bound, level);
        return (
          <li key={criterion.name} class={kept ? "kept" : "broken"}>
            <span>
              {criterion.name}
              {ofRun && kind === "return" ? ", kept over the whole run" : ""}
            </span>
            <span class="num">
              <b data-value={String(bound)}>
                {kind === "earn" ? figure(bound) : beside(bound, level)}
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

function Rose({
  why,
  ended,
  pointed,
  point,
}: {
  why: Why;
  ended: boolean;
  pointed: number | null;
  point: (action: number | null) => void;
}) {
  const moves = why.actions.filter((action) => action.dr || action.dc);
  const stay = why.actions.find((action) => action.dr === 0 && action.dc === 0);
  const others = why.actions.filter((action) => action.dr == null);
  const shared = { why, point };
  return (
    <figure class="rose">
      <svg
        viewBox="-172 -172 344 344"
        role="img"
        aria-label={`Compass rose of ${why.actions.length} actions; the table of all numbers says the same.`}
      >
        {moves.map((action) => (
          <Petal key={action.action} action={action} on={pointed === action.action} {...shared} />
        ))}
        {stay && <Stay action={stay} on={pointed === stay.action} {...shared} />}
      </svg>
      {others.length > 0 && (
        <p class="soft">{others.map((action) => action.name).join(", ")}: see the numbers.</p>
      )}
      <figcaption>
        <span>
          In each direction: the chance that the move works; <b>e</b>,{" "}
          {why.proposal ? `at best, ${rateUnit(why.proposal)}` : "what it is worth to explore"}
          {why.proposal || wholeOf(why) === null ? "" : ", against the plan"}
          {why.criteria.length > 0 && (
            <>
              ; <b>s</b>, {why.proposal ? "the way home after it" : "its safety value"}
            </>
          )}
          .
        </span>
        <span class="signs">
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

interface PetalProps {
  why: Why;
  action: WhyAction;
  on: boolean;
  point: (action: number | null) => void;
}

function Petal({ why, action, on, point }: PetalProps) {
  const turn = Math.atan2(action.dr ?? 0, action.dc ?? 0);
  const [from, to] = [turn - Math.PI / 8 + GAP, turn + Math.PI / 8 - GAP];
  const at = (radius: number, angle: number): string =>
    `${(radius * Math.cos(angle)).toFixed(2)} ${(radius * Math.sin(angle)).toFixed(2)}`;
  const sign = SIGN_OF[action.verdict];
  const path = `M${at(INNER, from)}L${at(OUTER, from)}A${OUTER} ${OUTER} 0 0 1 ${at(OUTER, to)}L${at(INNER, to)}A${INNER} ${INNER} 0 0 0 ${at(INNER, from)}Z`;
  const [x, y] = [110 * Math.cos(turn), 110 * Math.sin(turn)];
  return (
    <g
      class={`petal ${sign}${on ? " on" : ""}${action.leaves > 0 ? "" : " never"}`}
      data-action={action.action}
      onPointerEnter={() => point(action.action)}
      onPointerLeave={() => point(null)}
    >
      <title>{`${action.name}: ${verdictOf(why, action)}`}</title>
      <path d={path} />
      <text x={x} y={y - 20} class="direction">
        {compass(action)} {SIGNS[sign].mark}
      </text>
      {sign !== "closed" && <Lines why={why} action={action} x={x} y={y} />}
    </g>
  );
}

const NOTHING = 1e-12; // what a plan calls worth nothing

/** Give the plan's own exploration value, if it is one to measure others by. */
function wholeOf(why: Why): number | null {
  return why.value !== null && why.value > NOTHING ? why.value : null;
}

/** Write a rate as it is, a worth against the plan's; where that is nothing, as it is too. */
function worth(why: Why, action: WhyAction): string {
  const whole = wholeOf(why);
  if (action.exploration === null) return "–";
  if (why.proposal || whole === null)
    return figure(Math.abs(action.exploration) < NOTHING ? 0 : action.exploration, 3);
  const percent = 100 * (action.exploration / whole - 1);
  const far = Math.abs(percent);
  if (far < 5e-4) return "±0 %";
  return `${percent > 0 ? "+" : "−"}${Number(far.toPrecision(far < 1 ? 2 : 3))} %`;
}

/** Write an action's safety value: the one that has least to spare. */
function safety(why: Why, action: WhyAction): string {
  const tight = tightest(why, action);
  if (!tight) return figure(Math.min(...action.safety), 3);
  return beside(tight.value, tight.level, 3).replace(/(\.\d*?)0+$/, "$1");
}

function Lines({ why, action, x, y }: { why: Why; action: WhyAction; x: number; y: number }) {
  const safe = safety(why, action);
  return (
    <>
      <text x={x} y={y - 3} class="chance">
        {chance(action.leaves, 2)}
      </text>
      <text x={x} y={y + 13}>
        e {worth(why, action)}
      </text>
      {action.safety.length > 0 && (
        <text x={x} y={y + 28} class={safe.length > 6 ? "long" : ""}>
          s {safe}
        </text>
      )}
    </>
  );
}

function Stay({ why, action, on, point }: PetalProps) {
  const sign = SIGN_OF[action.verdict];
  return (
    <g
      class={`petal ${sign}${on ? " on" : ""}`}
      data-action={action.action}
      onPointerEnter={() => point(action.action)}
      onPointerLeave={() => point(null)}
    >
      <title>{`${action.name}: ${verdictOf(why, action)}`}</title>
      <circle r={INNER - 5} />
      <text y={-12} class="direction">
        stay {SIGNS[sign].mark}
      </text>
      {sign !== "closed" && (
        <>
          <text y={4}>e {worth(why, action)}</text>
          {action.safety.length > 0 && <text y={18}>s {safety(why, action)}</text>}
        </>
      )}
    </g>
  );
}

function Table({ why }: { why: Why }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label="All numbers of this decision">
      <table class="numbers-table">
        <thead>
          <tr>
            <th scope="col">move</th>
            <th scope="col">success</th>
            <th scope="col">{why.proposal ? rateUnit(why.proposal) : "explores"}</th>
            {why.criteria.map((criterion, k) => (
              <th scope="col" key={criterion.name} title={criterion.name}>
                {why.proposal ? "way home" : "safety"}
                {why.criteria.length > 1 ? ` ${k + 1}` : ""}
              </th>
            ))}
            <th scope="col" class="text">
              verdict
            </th>
          </tr>
        </thead>
        <tbody>
          {why.actions.map((action) => {
            const closed = SIGN_OF[action.verdict] === "closed";
            return (
              <tr key={action.action} class={SIGN_OF[action.verdict]} data-action={action.action}>
                <th scope="row">{action.name}</th>
                <td data-value={String(action.leaves)}>
                  {closed ? "–" : chance(action.leaves, 3)}
                </td>
                <td data-value={String(action.exploration)}>
                  {closed ? "–" : figure(action.exploration)}
                </td>
                {why.criteria.map((criterion, k) => (
                  <td key={criterion.name} data-value={String(action.safety[k])}>
                    {closed
                      ? "–"
                      : criterion.kind === "earn"
                        ? figure(action.safety[k])
                        : beside(action.safety[k] ?? 0, criterion.level)}
                  </td>
                ))}
                <td class="text">{verdictOf(why, action)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
