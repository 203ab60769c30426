// The time cursor's handles: play, step, scrub, speed, follow.

import { SPEEDS } from "../run/cursor";
import type { Cursor } from "../run/cursor";
import { Icon } from "./icons";

export function Timeline({ cursor }: { cursor: Cursor }) {
  const step = cursor.step.value;
  const last = cursor.last.value;
  const playing = cursor.playing.value;
  return (
    <div class="timeline" role="group" aria-label="Time">
      <div class="buttons">
        <button
          class="quiet"
          aria-label="One step back"
          title="One step back (←)"
          disabled={step <= 0}
          onClick={() => cursor.by(-1)}
        >
          <Icon name="back" />
        </button>
        <button
          class="main round"
          aria-label={playing ? "Pause playing" : "Play"}
          title={playing ? "Pause (space)" : "Play (space)"}
          disabled={last === 0}
          onClick={() => cursor.toggle()}
        >
          <Icon name={playing ? "pause" : "play"} />
        </button>
        <button
          class="quiet"
          aria-label="One step on"
          title="One step on (→)"
          disabled={step >= last}
          onClick={() => cursor.by(1)}
        >
          <Icon name="on" />
        </button>
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
        style={{ "--part": `${last ? (100 * step) / last : 0}%` }}
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
              {speed} a second
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
