// A mission: where the vehicle is, its next move, the way home, and what is left of the promise.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { API, getJson, linkTo, textOf } from "../api";
import type { End } from "../contract";
import type { Scene } from "../run/scene";
import { ago, beside, figure, keeps, least, levelName, minus } from "../words";

type Place = [number, number] | string; // row and column, or the name of a state

interface Recall {
  step: number;
  position: Place;
  ways_home: { probability: number; is_home: boolean; moves: { move: string; to: Place }[] }[];
  promise: {
    end: End | null;
    budgets: { level: number; kept: number; spent: number; left: number; used: number[]; lost: boolean }[];
  };
  geojson: unknown;
  gpx: string | null;
  kml: string | null;
}

interface Next {
  step: number;
  move: string | null;
  to: Place | null;
  line: [number, number, number][] | null;
}

export function MissionPanel({ scene }: { scene: Scene }) {
  const { run } = scene;
  const recall = useSignal<Recall | null>(null);
  const next = useSignal<Next | null>(null);
  const wrong = useSignal("");
  const address = `${API}/missions/${encodeURIComponent(run.id)}`;
  const count = run.count.value;
  useEffect(() => {
    const asked = new AbortController();
    const ask = async (): Promise<void> => {
      try {
        recall.value = await getJson<Recall>(`${address}/recall`, asked.signal);
        next.value = await getJson<Next>(`${address}/next`, asked.signal);
        wrong.value = "";
      } catch (cause) {
        if (!asked.signal.aborted) wrong.value = textOf(cause);
      }
    };
    void ask();
    return () => asked.abort();
  }, [address, count]);
  const found = recall.value;
  const details = run.details.value;
  const place = found && cellOf(found.position, details?.shape?.[1]);
  return (
    <section class="card mission" aria-label="Mission" aria-live="polite">
      <header>
        <h2>Mission</h2>
        <span class="unit">
          {found && `${found.step} ${found.step === 1 ? "step" : "steps"}, last report ${ago(details?.updated ?? null)}`}
        </span>
      </header>
      {!found && <p class="soft">{wrong.value || "Computing the way home…"}</p>}
      {found && (
        <p>
          The vehicle is in {placeWord(found.position)}.{" "}
          {next.value?.step === found.step && <NextMove next={next.value} />}
        </p>
      )}
      {found && <h3>Recall</h3>}
      {found?.ways_home.map((way, k) => {
        const level = found.promise.budgets[k]?.level;
        if (way.is_home) return <p key={k}>The vehicle is at home.</p>;
        return (
          <p key={k}>
            {way.probability > 0 ? (
              <>
                The way home works with probability at least{" "}
                <b class="num">{beside(way.probability, level)}</b>
                {way.moves.length > 0 && `: ${way.moves.map(({ move }) => move).join(" ")}`}.
              </>
            ) : (
              `No way home can be proven from here${
                way.moves.length > 0 ? `; the best supported one: ${way.moves.map(({ move }) => move).join(" ")}` : ""
              }.`
            )}
          </p>
        );
      })}
      {found && (
        <p class="row fine">
          {place !== null && !found.ways_home.every(({ is_home }) => is_home) && (
            <button class="small" onClick={() => (scene.selected.value = place)}>
              Show it on the map
            </button>
          )}
          {found.geojson !== null && (
            <a href={linkTo(`${address}/recall?format=geojson`)} download={`${run.id}-way-home.geojson`}>
              Way home (GeoJSON)
            </a>
          )}
          {(["gpx", "kml"] as const).map(
            (form) =>
              found[form] !== null && (
                <a key={form} href={linkTo(`${address}/recall?format=${form}`)} download={`${run.id}-way-home.${form}`}>
                  Way home ({form.toUpperCase()})
                </a>
              ),
          )}
        </p>
      )}
      {found && found.promise.end === null && found.promise.budgets.length > 0 && <h3>What may still be risked</h3>}
      {found &&
        found.promise.end === null &&
        found.promise.budgets.map((budget, k) => <Budget key={k} {...budget} />)}
      {found && found.promise.end !== null && (
        <p class="bad">
          The promise is lost: what happened contradicts the belief. The way home follows what was driven as far as it
          can, and nothing is proven of it.
        </p>
      )}
    </section>
  );
}

function NextMove({ next: { move, to, line } }: { next: Next }) {
  if (move === null) return <>No further move is advised.</>;
  const [x, y] = line?.[line.length - 1] ?? [];
  const at = x === undefined || y === undefined ? "" : `, at x ${minus(x.toFixed(1))}, y ${minus(y.toFixed(1))}`;
  return (
    <>
      Its next move: <b>{move}</b>
      {to !== null && ` to ${placeWord(to)}${at}`}.
    </>
  );
}

/** What is left of the risk that a level allows, as a bar and in words. */
function Budget({ level, kept, left, used, lost }: Recall["promise"]["budgets"][number]) {
  const allowed = 1 - level;
  return (
    <div class="fine budget">
      {lost ? (
        <p class="bad">
          Nothing is proven of the way home after these reports, which the level {figure(level)} allows in{" "}
          {figure(allowed, 3)} of the cases.
        </p>
      ) : kept >= level - 1e-8 ? (
        <>
          {allowed > 0 && (
            <meter min={0} max={allowed} value={left} aria-label={`Risk left at δ = ${figure(level)}`} />
          )}
          <p>
            The promise of {keeps(kept, level) ? levelName(level) : beside(kept, level)} holds; {least(left, 3)} may still be risked
            {allowed > 0 && ` of ${figure(allowed, 3)}`}.
          </p>
        </>
      ) : (
        <p class="bad">
          The vehicle was moved: of the promise of {levelName(level)}, {beside(kept, null)} is left.
        </p>
      )}
      {used.length > 0 && <p>Used of the limits so far: {used.map((each) => figure(each, 4)).join(", ")}.</p>}
    </div>
  );
}

function placeWord(place: Place): string {
  return typeof place === "string" ? place : `row ${place[0]}, column ${place[1]}`;
}

function cellOf(place: Place, columns: number | undefined): number | null {
  return typeof place === "string" || columns === undefined ? null : place[0] * columns + place[1];
}
