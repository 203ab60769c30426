// A mission's recall: the way home from where the vehicle is, and what is left of the promise.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { API, getJson, linkTo, textOf } from "../api";
import type { RunModel } from "../run/model";
import { beside, figure } from "../words";

interface Recall {
  step: number;
  ways_home: { probability: number; is_home: boolean; moves: { move: string }[] }[];
  promise: { kept: number; budgets: { level: number; kept: number; left: number }[] };
  geojson: unknown;
  gpx: string | null;
  why_no_gpx: string | null;
}

export function MissionPanel({ run }: { run: RunModel }) {
  const recall = useSignal<Recall | null>(null);
  const wrong = useSignal("");
  const address = `${API}/missions/${encodeURIComponent(run.id)}/recall`;
  const count = run.count.value;
  useEffect(() => {
    const asked = new AbortController();
    getJson<Recall>(address, asked.signal)
      .then((found) => {
        recall.value = found;
        wrong.value = "";
      })
      .catch((cause: unknown) => {
        if (!asked.signal.aborted) wrong.value = textOf(cause);
      });
    return () => asked.abort();
  }, [address, count]);
  const found = recall.value;
  return (
    <section class="card" aria-label="Recall" aria-live="polite">
      <header>
        <h2>Recall</h2>
        <span class="unit">{found ? `after ${found.step} steps` : ""}</span>
      </header>
      {!found && <p class="soft">{wrong.value || "Computing the way home…"}</p>}
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
              "No way home can be proven from here."
            )}
          </p>
        );
      })}
      {found?.promise.budgets.map((budget, k) => (
        <p key={k} class="fine">
          {budget.kept >= budget.level - 1e-8
            ? `The promise of ${figure(budget.level)} holds; ${figure(budget.left, 3)} may still be risked.`
            : `The vehicle was moved: of the promise of ${figure(budget.level)}, ${figure(budget.kept)} is left.`}
        </p>
      ))}
      {found && (found.geojson !== null || found.gpx !== null) && (
        <p class="row fine">
          {found.geojson !== null && (
            <a href={linkTo(`${address}?format=geojson`)} download={`${run.id}-way-home.geojson`}>
              GeoJSON
            </a>
          )}
          {found.gpx !== null && (
            <a href={linkTo(`${address}?format=gpx`)} download={`${run.id}-way-home.gpx`}>
              GPX
            </a>
          )}
        </p>
      )}
    </section>
  );
}
