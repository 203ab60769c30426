// A slider for the safety level δ, with an explanation.

import type { Signal } from "@preact/signals";
import { meaning, planMeaning } from "../words";
import type { Home } from "../words";

const LEVELS = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 1];

interface LevelProps {
  level: Signal<number>; // one of the levels
  planHome?: Home | null; // of the paper's algorithm, whose level is for each plan
  naive?: boolean; // whether the explorer plans as if the mean model were true
}

/** Set δ. */
export function LevelSlider({ level, planHome = null, naive = false }: LevelProps) {
  const place = Math.max(
    0,
    LEVELS.findIndex((each) => each >= level.value - 1e-9),
  );
  const promise = planHome === null ? meaning(level.value) : planMeaning(level.value, planHome);
  const said = naive ? `${promise} This is true only if the mean model is; nothing is proven.` : promise;
  return (
    <div class="level stack">
      <label for="level">
        Safety level δ <b class="num">{level.value}</b>
      </label>
      <input
        id="level"
        type="range"
        min={0}
        max={LEVELS.length - 1}
        step={1}
        value={place}
        aria-valuetext={`${level.value}: ${said}`}
        aria-describedby="level-meaning"
        onInput={(event) => (level.value = LEVELS[Number(event.currentTarget.value)] ?? 0.98)}
      />
      <p id="level-meaning" class="soft fine">
        {said}
      </p>
    </div>
  );
}
