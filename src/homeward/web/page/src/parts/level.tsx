// The safety level δ: a slider and a field to type it, and an explanation.

import { useSignal } from "@preact/signals";
import { meaning, planMeaning } from "../words";
import type { Home } from "../words";

const LEVELS = [0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 1];

interface LevelProps {
  level: { value: number };
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
      <div class="row">
        <label for="level">Safety level δ</label>
        <TypedLevel level={level} />
      </div>
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

/** A field to type δ. A text that is not a number from 0 to 1 changes nothing, and a sentence says so. */
function TypedLevel({ level, changed, disabled }: LevelFieldProps) {
  const invalid = useSignal(false);
  const read = (text: string): void => {
    const value = text.trim() === "" ? NaN : Number(text.replace(",", "."));
    invalid.value = !(value >= 0 && value <= 1);
    if (invalid.value) return;
    level.value = value;
    changed?.();
  };
  return (
    <>
      <input
        class="level-number num"
        type="number"
        min={0}
        max={1}
        step="any"
        inputMode="decimal"
        aria-label="δ as a number"
        aria-invalid={invalid.value}
        value={level.value}
        disabled={disabled ?? false}
        onInput={(event) => read(event.currentTarget.value)}
        onBlur={(event) => {
          event.currentTarget.value = String(level.value);
          invalid.value = false;
        }}
      />
      {invalid.value && (
        <p class="ended fine" role="alert">
          δ is a probability: enter a number from 0 to 1.
        </p>
      )}
    </>
  );
}

interface LevelFieldProps {
  level: { value: number };
  changed?: () => void;
  disabled?: boolean;
}

/** Drag or type δ from 0 to 1. */
export function Level({ level, changed, disabled }: LevelFieldProps) {
  return (
    <div class="level stack">
      <div class="row">
        <label for="drag-level">Safety level δ</label>
        <TypedLevel level={level} {...(changed ? { changed } : {})} disabled={disabled ?? false} />
      </div>
      <input
        id="drag-level"
        type="range"
        min={0}
        max={1}
        step={0.005}
        value={level.value}
        disabled={disabled ?? false}
        onInput={(event) => {
          level.value = Number(event.currentTarget.value);
          changed?.();
        }}
      />
    </div>
  );
}
