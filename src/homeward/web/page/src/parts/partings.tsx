// In words: from which step on compared runs differ, and why; or that they took the same moves.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { getJson, runUrl } from "../api";
import type { Why } from "../api";
import type { Cursor } from "../run/cursor";
import { namesOf } from "../run/model";
import type { Scene } from "../run/scene";
import { partingWord, shared } from "../run/parting";
import { riskWord } from "../run/timeline";
import { hasLevel, isOfRun, levelName } from "../words";

/** The runs of a comparison against the first one; nothing while one goes on or is loaded. */
export function Partings({ scenes, cursor }: { scenes: Scene[]; cursor: Cursor }) {
  const runs = scenes.map((scene) => scene.run);
  const names = namesOf(runs);
  const all = runs.flatMap((run) => run.details.value ?? []);
  const ready = scenes.every(({ run, told }) => !run.going.value && run.count.value > 0 && told.value);
  const worlds = new Set(all.map(({ kind, shape, start }) => JSON.stringify([kind, shape, start])));
  if (!ready || all.length < runs.length || worlds.size > 1) return null;
  const levels = new Set(all.map((details) => (hasLevel(details) && isOfRun(details) ? details.delta : null)));
  const priced = all[0]?.kind === "rover" && levels.size > 1 && !levels.has(null);
  const [first] = runs.map((run) => run.columns.value);
  const steps = runs.map((run) => (first ? shared(first, run.columns.value) : 0));
  const equal = runs.flatMap((run, i) => (first && steps[i] === first.count && run.count.value === first.count ? [i] : []));
  return (
    <div class="partings fine">
      {equal.length > 1 && (
        <p>
          {listed(equal.map((i) => names[i] ?? ""))} took the same moves at every step. {sameWord(equal.map((i) => scenes[i] as Scene))}
        </p>
      )}
      {scenes.map((scene, i) => {
        const [one] = scenes;
        if (!one || i === 0 || equal.includes(i)) return null;
        const [step, name, reference] = [steps[i] ?? 0, names[i] ?? "", names[0] ?? ""];
        return (
          <p key={scene.run.id + String(i)}>
            {name} and {reference}: {step ? "the same moves until" : "different moves from"}{" "}
            <button class="link" onClick={() => cursor.jump(step)}>
              {step ? `step ${step}` : "the first step on"}
            </button>
            . <Reason one={one} other={scene} step={step} names={[reference, name]} />
          </p>
        );
      })}
      {equal.length < runs.length && priced && (
        <p class="soft">
          The risk that a way home would add has a price, and the lower δ is, the lower is the price.
        </p>
      )}
    </div>
  );
}

function Reason({ one, other, step, names }: { one: Scene; other: Scene; step: number; names: [string, string] }) {
  const word = useSignal("");
  const pair = [one, other] as const;
  useEffect(() => {
    const ended = pair.findIndex(({ run }) => run.count.peek() === step);
    const details = pair[ended]?.run.details.peek();
    if (details) {
      const why = details.status === "finished" ? `ended: ${details.why ?? ""}` : `is ${details.status}.`;
      word.value = `There ${names[ended] ?? ""} ${why}`;
      return undefined;
    }
    if (one.slow.peek()) return undefined; // plans on large maps are computed on request
    const stop = new AbortController();
    const asked = pair.map(({ run }) => getJson<Why>(runUrl(run.id, `/steps/${step}/why`), stop.signal));
    Promise.all(asked)
      .then((whys) => {
        const [left, right] = pair.map(({ run }, i) => {
          const about = run.details.peek();
          const level = about && hasLevel(about) ? about.delta : null;
          return { name: names[i] ?? "", level, ofRun: !!about && isOfRun(about), why: whys[i] as Why };
        });
        const columns = one.run.details.peek()?.shape?.[1] ?? 1;
        if (left && right) word.value = partingWord(left, right, columns);
      })
      .catch(() => undefined); // the step is told all the same
    return () => stop.abort();
  }, [one, other, step]);
  return <>{word.value}</>;
}

/** Return what equal runs risked beside what the strictest of them allows; "" if not all have levels. */
function sameWord(scenes: Scene[]): string {
  const levels = scenes.flatMap(({ run: { details } }) =>
    details.value && hasLevel(details.value) ? [details.value.delta ?? 0] : [],
  );
  const [strict, bold] = [Math.max(...levels), Math.min(...levels)];
  const scene = scenes[levels.indexOf(strict)];
  if (levels.length < scenes.length || !scene || strict === bold) return "";
  const risk = riskWord(scene.run);
  return `${risk} What δ = ${levelName(strict)} refused, δ = ${levelName(bold)} did not take either.`.trim();
}

function listed(names: string[]): string {
  return names.length < 2 ? (names[0] ?? "") : `${names.slice(0, -1).join(", ")} and ${names[names.length - 1]}`;
}
