// The controls of the time cursor: play, step, scrub, speed, follow; and events to go to.

import { computed } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { SPEEDS } from "../run/cursor";
import type { Cursor } from "../run/cursor";
import type { Scene } from "../run/scene";
import { namesOf } from "../run/model";
import { eventWord, marksOf, rank } from "../run/timeline";
import type { Happened } from "../run/timeline";
import { IconButton } from "./icons";

export function Timeline({ cursor, scenes }: { cursor: Cursor; scenes: Scene[] }) {
  const step = cursor.step.value;
  const last = cursor.last.value;
  const playing = cursor.playing.value;
  const all = useMemo(
    () =>
      computed(() => {
        const names = scenes.length > 1 ? namesOf(scenes.map(({ run }) => run)) : [];
        const told = scenes.flatMap(({ events }, i) => events.value.map((each): Happened => ({ ...each, who: names[i] ?? "" })));
        return told.sort((a, b) => a.step - b.step);
      }),
    [scenes],
  );
  const events = all.value;
  const marks = useMemo(() => marksOf(events, last), [events, last]);
  const dots = useMemo(() => <EventMarks marks={marks} last={last} cursor={cursor} />, [marks, last, cursor]);
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
      <div class="scrub-box">
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
        {last > 0 && dots}
      </div>
      <output class="count" aria-live="off">
        after <b>{step}</b> of {last} steps
      </output>
      <label class="speed">
        <span class="hidden">Speed</span>
        <select
          value={String(cursor.speed.value)}
          title="Speed (key s: slower, key f: faster)"
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
      {last > 0 && <EventLine events={events} marks={marks} last={last} cursor={cursor} />}
    </div>
  );
}

/** Marks below the slider. */
function EventMarks({ marks, last, cursor }: { marks: Happened[]; last: number; cursor: Cursor }) {
  return (
    <div class="event-marks" aria-hidden="true">
      {marks.map((event) => (
        <i
          key={event.step}
          class={event.code}
          title={eventWord(event)}
          style={{ left: `${(100 * event.step) / Math.max(1, last)}%` }}
          onClick={() => cursor.jump(event.step)}
        />
      ))}
    </div>
  );
}

interface Line {
  events: Happened[];
  marks: Happened[];
  last: number;
  cursor: Cursor;
}

/** The events of this step, buttons to the mark before and the next, and a step to go to. */
function EventLine({ events, marks, last, cursor }: Line) {
  const step = cursor.step.value;
  const here = events.filter((event) => event.step === step);
  here.sort((a, b) => rank(a) - rank(b));
  const [shown] = here;
  const before = marks.filter((event) => event.step < step).pop();
  const after = marks.find((event) => event.step > step);
  const go = (to: number | undefined): void => {
    if (to === undefined) return;
    cursor.playing.value = false;
    cursor.jump(to);
  };
  return (
    <p class="event-line row fine">
      <button class="small" disabled={!before} onClick={() => go(before?.step)}>
        Previous event
      </button>
      <button class="small" disabled={!after} onClick={() => go(after?.step)}>
        Next event
      </button>
      <label class="row">
        <span>Show the map after step</span>
        <input
          class="go-to num"
          type="number"
          min={0}
          max={last}
          step={1}
          onChange={({ currentTarget: field }) => {
            if (field.value !== "" && field.validity.valid) go(Number(field.value));
            if (field.validity.valid) field.value = "";
          }}
        />
      </label>
      <span role="status" class={shown?.code === "trapped" ? "bad" : ""}>
        {shown ? eventWord(shown) : ""}
      </span>
    </p>
  );
}
