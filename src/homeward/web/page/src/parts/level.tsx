// The safety level by a slider, with what it means in words.

import type { Signal } from "@preact/signals";
import { meaning } from "../words";

const LEVELS = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 1];

/** Set δ; `level` holds one of the levels. */
export function LevelSlider({ level }: { level: Signal<number> }) {
  const place = Math.max(
    0,
    LEVELS.findIndex((each) => each >= level.value - 1e-9),
  );
  return (
    <div class="level">
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
        aria-valuetext={`${level.value}: ${meaning(level.value)}`}
        aria-describedby="level-meaning"
        style={{ "--part": `${(100 * place) / (LEVELS.length - 1)}%` }}
        onInput={(event) => (level.value = LEVELS[Number(event.currentTarget.value)] ?? 0.98)}
      />
      <p id="level-meaning" class="soft">
        {meaning(level.value)}
      </p>
    </div>
  );
}
