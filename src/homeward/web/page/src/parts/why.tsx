// Why this move? The neighbours as a compass rose, the plan's own sentence, and the numbers.

import { useSignal } from "@preact/signals";
import type { Why, WhyAction } from "../api";
import type { Scene } from "../run/scene";
import { cellName, chance, compass, figure, readable } from "../words";

type Sign = "chosen" | "unsafe" | "less" | "plan" | "closed";

const SIGNS: Record<Sign, { mark: string; text: string }> = {
  chosen: { mark: "✓", text: "chosen" },
  plan: { mark: "○", text: "in the plan, not taken" },
  less: { mark: "=", text: "worth no more" },
  unsafe: { mark: "✕", text: "below δ" },
  closed: { mark: "–", text: "can't be chosen" },
};

/** Sort a verdict, as the plan words it, among the signs. */
export function signOf(verdict: string): Sign {
  if (verdict === "chosen") return "chosen";
  if (verdict.startsWith("in the plan")) return "plan";
  if (verdict.startsWith("would fall")) return "unsafe";
  if (verdict.startsWith("can't")) return "closed";
  return "less";
}

export function WhyPanel({ scene, title }: { scene: Scene; title?: string }) {
  const why = scene.why.value;
  const details = scene.run.details.value;
  const pointed = useSignal<number | null>(null);
  if (!details) return null;
  const stale = why !== null && why.step !== scene.step.value;
  const ended = scene.step.value >= scene.run.count.value && !scene.run.going.value;
  const shown = why?.actions.find((action) => action.action === (pointed.value ?? why.action));
  const [first, rest] = parted(readable(why?.sentence ?? ""));
  return (
    <section
      class={`why card${stale ? " stale" : ""}`}
      aria-label={title ? `Why this move, ${title}` : "Why this move"}
      aria-busy={stale}
      data-step={why?.step}
    >
      <header>
        <h2>{title ?? "Why this move?"}</h2>
        {why && details.shape && (
          <span class="unit">from {cellName(why.state, details.shape[1])}</span>
        )}
      </header>
      {ended && <p class="ended">{endWord(details.end, details.status)}</p>}
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
          {rest && <p class="reasons">{rest}</p>}
          {!why.agrees && why.recorded && (
            <p class="ended">
              Planned again, this is not what was recorded: another version of the software made the
              run.
            </p>
          )}
          <Rose why={why} pointed={pointed.value} point={(action) => (pointed.value = action)} />
          {shown && (
            <p class={`verdict ${signOf(shown.verdict)}`}>
              <b>{shown.name}</b>: {shown.verdict}
              {shown.weight > 0 && shown.weight < 1
                ? `; ${figure(100 * shown.weight, 3)} % of the plan start with it`
                : ""}
              .
            </p>
          )}
          <Criteria why={why} />
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
    </section>
  );
}

/** Part a text after its first sentence. */
function parted(text: string): [string, string] {
  const end = text.search(/\.\s/);
  return end < 0 ? [text, ""] : [text.slice(0, end + 1), text.slice(end + 2)];
}

function endWord(end: string | null, status: string): string {
  if (status === "finished") return `The run ended here${end ? `: ${end}` : ""}.`;
  return `The run is ${status} here.`;
}

function Criteria({ why }: { why: Why }) {
  if (!why.criteria.length)
    return <p class="soft none-kept">Nothing is kept safe: this explorer has no criterion.</p>;
  return (
    <ul class="criteria">
      {why.criteria.map((criterion) => {
        const kept = criterion.kept_bound >= criterion.level - 1e-8;
        return (
          <li key={criterion.name} class={kept ? "kept" : "broken"}>
            <span>{criterion.name}</span>
            <span class="num">
              <b data-value={String(criterion.bound)}>
                {criterion.kind === "earn"
                  ? figure(criterion.bound)
                  : chance(kept ? Math.max(criterion.bound, criterion.level) : criterion.bound)}
              </b>{" "}
              {kept ? "≥" : "<"} {figure(criterion.level)}
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
  pointed,
  point,
}: {
  why: Why;
  pointed: number | null;
  point: (action: number | null) => void;
}) {
  const moves = why.actions.filter((action) => action.dr || action.dc);
  const stay = why.actions.find((action) => action.dr === 0 && action.dc === 0);
  const others = why.actions.filter((action) => action.dr == null);
  const whole = why.actions.find((action) => action.action === why.action)?.exploration ?? 0;
  return (
    <figure class="rose">
      <svg
        viewBox="-172 -172 344 344"
        role="img"
        aria-label={`Compass rose of ${why.actions.length} actions; the table of all numbers says the same.`}
      >
        {moves.map((action) => (
          <Petal
            key={action.action}
            action={action}
            whole={whole}
            on={pointed === action.action}
            point={point}
          />
        ))}
        {stay && <Stay action={stay} whole={whole} on={pointed === stay.action} point={point} />}
      </svg>
      {others.length > 0 && (
        <p class="soft">{others.map((action) => action.name).join(", ")}: see the numbers.</p>
      )}
      <figcaption>
        <span>
          In each direction: the chance that the move works; <b>e</b>, how much more or less it is
          worth to explore than the chosen one; <b>s</b>, its safety value.
        </span>
        <span class="signs">
          {(Object.keys(SIGNS) as Sign[])
            .filter((sign) => why.actions.some((action) => signOf(action.verdict) === sign))
            .map((sign) => (
              <span key={sign} class={`sign ${sign}`}>
                <i>{SIGNS[sign].mark}</i> {SIGNS[sign].text}
              </span>
            ))}
        </span>
      </figcaption>
    </figure>
  );
}

interface PetalProps {
  action: WhyAction;
  whole: number; // the exploration value of the chosen action
  on: boolean;
  point: (action: number | null) => void;
}

function Petal({ action, whole, on, point }: PetalProps) {
  const turn = Math.atan2(action.dr ?? 0, action.dc ?? 0);
  const [from, to] = [turn - Math.PI / 8 + GAP, turn + Math.PI / 8 - GAP];
  const at = (radius: number, angle: number): string =>
    `${(radius * Math.cos(angle)).toFixed(2)} ${(radius * Math.sin(angle)).toFixed(2)}`;
  const sign = signOf(action.verdict);
  const path = `M${at(INNER, from)}L${at(OUTER, from)}A${OUTER} ${OUTER} 0 0 1 ${at(OUTER, to)}L${at(INNER, to)}A${INNER} ${INNER} 0 0 0 ${at(INNER, from)}Z`;
  const [x, y] = [110 * Math.cos(turn), 110 * Math.sin(turn)];
  return (
    <g
      class={`petal ${sign}${on ? " on" : ""}${action.leaves > 0 ? "" : " never"}`}
      data-action={action.action}
      onPointerEnter={() => point(action.action)}
      onPointerLeave={() => point(null)}
    >
      <title>{`${action.name}: ${action.verdict}`}</title>
      <path d={path} />
      <text x={x} y={y - 20} class="direction">
        {compass(action)} {SIGNS[sign].mark}
      </text>
      {sign !== "closed" && <Lines action={action} whole={whole} x={x} y={y} />}
    </g>
  );
}

/** Write how far an exploration value is from the chosen one's; where that is none, as it is. */
function worth(action: WhyAction, whole: number): string {
  if (action.exploration === null) return "–";
  if (whole <= 0) return figure(action.exploration, 3);
  const percent = 100 * (action.exploration / whole - 1);
  const far = Math.abs(percent);
  if (far < 5e-4) return "±0 %";
  return `${percent > 0 ? "+" : "−"}${Number(far.toPrecision(far < 1 ? 2 : 3))} %`;
}

function Lines({
  action,
  whole,
  x,
  y,
}: {
  action: WhyAction;
  whole: number;
  x: number;
  y: number;
}) {
  return (
    <>
      <text x={x} y={y - 3} class="chance">
        {chance(action.leaves, 2)}
      </text>
      <text x={x} y={y + 13}>
        e {worth(action, whole)}
      </text>
      {action.safety.length > 0 && (
        <text x={x} y={y + 28}>
          s {figure(Math.min(...action.safety), 3)}
        </text>
      )}
    </>
  );
}

function Stay({ action, whole, on, point }: PetalProps) {
  const sign = signOf(action.verdict);
  return (
    <g
      class={`petal ${sign}${on ? " on" : ""}`}
      data-action={action.action}
      onPointerEnter={() => point(action.action)}
      onPointerLeave={() => point(null)}
    >
      <title>{`${action.name}: ${action.verdict}`}</title>
      <circle r={INNER - 5} />
      <text y={-12} class="direction">
        stay {SIGNS[sign].mark}
      </text>
      {sign !== "closed" && (
        <>
          <text y={4}>e {worth(action, whole)}</text>
          {action.safety.length > 0 && (
            <text y={18}>s {figure(Math.min(...action.safety), 3)}</text>
          )}
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
            <th scope="col">explores</th>
            {why.criteria.map((criterion, k) => (
              <th scope="col" key={criterion.name} title={criterion.name}>
                safety{why.criteria.length > 1 ? ` ${k + 1}` : ""}
              </th>
            ))}
            <th scope="col" class="text">
              verdict
            </th>
          </tr>
        </thead>
        <tbody>
          {why.actions.map((action) => {
            const closed = signOf(action.verdict) === "closed";
            return (
              <tr key={action.action} class={signOf(action.verdict)} data-action={action.action}>
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
                        : chance(action.safety[k] ?? 0)}
                  </td>
                ))}
                <td class="text">{action.verdict}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}
