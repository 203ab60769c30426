// Call it off at a moment of a run: explorers in worlds drawn from its belief walk the way home.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { getJson, runUrl } from "../api";
import type { Ghosts } from "../api";
import { Hundred } from "../calloff/hundred";
import type { Fate } from "../calloff/hundred";
import { attempt } from "../messages";
import type { Scene } from "../run/scene";
import { calledFrom, hundredths, scatter } from "../words";

export function CallOffPanel({ scene }: { scene: Scene }) {
  const found = useSignal<Ghosts | null>(null);
  const busy = useSignal(false);
  const seed = useSignal(0);
  const { walk } = scene;
  const [step, selected, back] = [scene.step.value, scene.selected.value, scene.back.value];
  const cell = selected ?? (back && scene.why.value?.step === step ? back.cell : scene.here.value);
  const columns = scene.run.details.value?.shape?.[1];
  useEffect(() => {
    walk.clear(); // they walked another way home
    found.value = null;
    return () => walk.clear();
  }, [scene, step, cell]);
  if (cell === null || columns === undefined) return null;
  const start = async (): Promise<void> => {
    busy.value = true;
    const asked = `/steps/${step}/ghosts?cell=${cell}&seed=${++seed.value}`;
    const answer = await attempt(() => getJson<Ghosts>(runUrl(scene.run.id, asked)));
    busy.value = false;
    if (!answer || scene.step.peek() !== step) return;
    found.value = answer;
    const lost = answer.lost.map((place) => place ?? -1);
    if (answer.path.length > 1) walk.begin(answer.path, lost, 0, seed.value, () => undefined);
  };
  const ghosts = found.value;
  const fates = walk.fates.value ? (walk.fates.value.split(" ") as Fate[]) : [];
  return (
    <section class="card call-off" aria-label="Call it off" data-walking={walk.walking.value}>
      <header>
        <h2>Call it off</h2>
        <span class="unit">{calledFrom(cell, selected ?? scene.here.value, columns)}</span>
      </header>
      <p class="row fine">
        <button disabled={busy.value} onClick={() => void start()}>
          {busy.value ? "Drawing worlds…" : ghosts ? "Draw other worlds" : "Call it off now"}
        </button>
        {!ghosts && (
          <span class="soft">
            A hundred worlds are drawn from what the explorer knows, and the way home is walked in each.
          </span>
        )}
      </p>
      {fates.length > 0 && <Hundred fates={fates} />}
      <p role="status" class="said fine">
        {ghosts && !walk.walking.value && outcome(ghosts)}
      </p>
    </section>
  );
}

/** Return what became of the ghosts, in a sentence. */
function outcome({ path, lost, bound }: Ghosts): string {
  if (!path.length) return "No way home can be proven from here, so there is none to walk.";
  if (path.length === 1) return "This is home.";
  const home = lost.filter((place) => place === null).length;
  const below = scatter(bound, lost.length);
  const chance = below ? ` By chance, a draw may have up to about ${below} fewer than proven.` : "";
  return `Proven ≥ ${hundredths(bound)} of 100; of these ${lost.length}, ${home} came home.${chance}`;
}
