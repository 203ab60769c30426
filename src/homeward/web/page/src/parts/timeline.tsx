// The controls of the time cursor: play, step, scrub, speed, follow.

import { SPEEDS } from "../run/cursor";
import type { Cursor } from "../run/cursor";
import { IconButton } from "./icons";

export function Timeline({ cursor }: { cursor: Cursor }) {
  const step = cursor.step.value;
  const last = cursor.last.value;
  const playing = cursor.playing.value;
  return (
    <div class="timeline row" role="group" aria-label="Time">
      <div class="buttons">
        <IconButton
          icon="back"
          label="Previous step"
          title="Previous step (←)"
          disabled={step <= 0}
          onClick={() => cursor.by(-1)}
        />
        <IconButton
          icon={playing ? "pause" : "play"}
          label={playing ? "Pause playing" : "Play"}
          title={playing ? "Pause (space)" : "Play (space)"}
          class="main round"
          disabled={last === 0}
          onClick={() => cursor.toggle()}
        />
        <IconButton
          icon="on"
          label="Next step"
          title="Next step (→)"
          disabled={step >= last}
          onClick={() => cursor.by(1)}
        />
      </div>
      <input
        class="scrub"
        type="range"
        min={0}
        max={Math.max(1, last)}
        step={1}
        value={step}
        disabled={last === 0}
        aria-label="Step"
        aria-valuetext={`after ${step} of ${last} steps`}
        onInput={(event) => cursor.jump(Number(event.currentTarget.value))}
      />
      <output class="count" aria-live="off">
        after <b>{step}</b> of {last} steps
      </output>
      <label class="speed">
        <span class="hidden">Speed</span>
        <select
          value={String(cursor.speed.value)}
          title="Speed (s slower, f faster)"
          onChange={(event) => (cursor.speed.value = Number(event.currentTarget.value))}
        >
          {SPEEDS.map((speed) => (
            <option key={speed} value={String(speed)}>
              {speed} steps/s
            </option>
          ))}
        </select>
      </label>
      {cursor.live.value && (
        <button
          class={cursor.follow.value ? "live on" : "live"}
          aria-pressed={cursor.follow.value}
          onClick={() => cursor.setFollow(!cursor.follow.value)}
        >
          Follow live
        </button>
      )}
    </div>
  );
}
