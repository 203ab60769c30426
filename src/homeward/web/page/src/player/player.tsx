// Runs of the same world beside each other, played by one slider, with what each has seen and whether
// it still has a way home. Needs no server.

import { computed, effect, signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { IconButton } from "../parts/icons";
import { dark } from "../parts/theme";
import { explorerName, levelName } from "../words";
import { Playback } from "./playback";
import type { RunEvent, Stored } from "./playback";
import { Stage } from "./stage";

const REST_MS = 700; // at the first moment, before it plays
const PLAY_SECONDS = 40; // that the longest run takes
const LOST = "No move that works leads home: it can never come back.";
const [SLOWEST, FASTEST] = [4, 60]; // steps a second

class Clock {
  readonly step = signal(0);
  readonly playing = signal(false);
  readonly last: number;
  private readonly speed: number;
  private at = 0;
  private then = 0;
  private frame = 0;
  private rest = 0;

  constructor(playbacks: Playback[]) {
    this.last = Math.max(1, ...playbacks.map((each) => each.steps));
    this.speed = Math.max(SLOWEST, Math.min(FASTEST, this.last / PLAY_SECONDS));
  }

  /** Play by itself, unless the reader prefers things that do not move. */
  begin(): void {
    if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    this.rest = window.setTimeout(() => this.toggle(), REST_MS);
  }

  toggle(): void {
    window.clearTimeout(this.rest);
    if (this.playing.value) return this.stop();
    if (this.step.value >= this.last) this.step.value = 0;
    this.at = this.step.value;
    this.then = performance.now();
    this.playing.value = true;
    this.frame = requestAnimationFrame(this.advance);
  }

  jump(step: number): void {
    window.clearTimeout(this.rest);
    this.at = this.step.value = step;
  }

  stop(): void {
    window.clearTimeout(this.rest);
    cancelAnimationFrame(this.frame);
    this.playing.value = false;
  }

  private readonly advance = (now: number): void => {
    this.at = Math.min(this.last, this.at + (Math.min(250, now - this.then) / 1000) * this.speed);
    this.then = now;
    this.step.value = Math.floor(this.at);
    if (this.at >= this.last) this.playing.value = false;
    else this.frame = requestAnimationFrame(this.advance);
  };
}

/** Runs beside each other; a single run is played as well. */
export function Player({ runs, auto = true }: { runs: Stored[]; auto?: boolean }) {
  const { playbacks, clock } = useMemo(() => {
    const made = runs.map((stored) => new Playback(stored));
    return { playbacks: made, clock: new Clock(made) };
  }, [runs]);
  useEffect(() => {
    if (auto) clock.begin();
    return () => clock.stop();
  }, [clock]);
  const step = clock.step.value;
  return (
    <section class="player" aria-label="Two explorers on the same ground">
      <div class={`player-maps of-${playbacks.length}`}>
        {playbacks.map((playback, i) => (
          <Screen key={i} playback={playback} step={clock.step} />
        ))}
      </div>
      <div class="player-time row">
        <IconButton
          icon={clock.playing.value ? "pause" : "play"}
          label={clock.playing.value ? "Pause playing" : "Play"}
          class="main round"
          onClick={() => clock.toggle()}
        />
        <div class="scrub-box">
          <input
            class="scrub"
            type="range"
            min={0}
            max={clock.last}
            value={step}
            aria-label="Step"
            aria-valuetext={`after ${step} of ${clock.last} steps`}
            onInput={(event) => {
              clock.stop();
              clock.jump(Number(event.currentTarget.value));
            }}
          />
          <EventMarks
            events={playbacks.flatMap((each) => each.stored.events)}
            last={clock.last}
          />
        </div>
        <output class="count" aria-live="off">
          step <b>{step}</b> of {clock.last}
        </output>
      </div>
    </section>
  );
}

/** Marks below a slider where a run was trapped. */
function EventMarks({ events, last }: { events: RunEvent[]; last: number }) {
  return (
    <div class="event-marks" aria-hidden="true">
      {events
        .filter(({ code }) => code === "trapped")
        .map(({ step, code }, i) => (
          <i key={i} class={code} style={{ left: `${(100 * step) / last}%` }}>
            <small>trapped at {step}</small>
          </i>
        ))}
    </div>
  );
}

function Screen({ playback, step }: { playback: Playback; step: Signal<number> }) {
  const element = useRef<HTMLCanvasElement>(null);
  const { stored } = playback;
  useEffect(() => {
    const canvas = element.current;
    if (!canvas) return undefined;
    const stage = new Stage(canvas, playback);
    const draw = (): void => stage.draw(step.peek(), dark.peek());
    const stop = effect(() => stage.draw(step.value, dark.value));
    const watch = new ResizeObserver(draw);
    watch.observe(canvas);
    return () => {
      stop();
      watch.disconnect();
    };
  }, [playback]);
  const shown = useMemo(() => computed(() => Math.min(step.value, playback.steps)), [playback]);
  const now = shown.value;
  const safe = stored.delta !== null;
  const way = playback.way(now);
  const lost = stored.trapped !== null && now >= stored.trapped;
  const ended = step.value > playback.steps;
  const [rows, columns] = stored.shape;
  const [dy, dx] = stored.cell ?? [1, 1];
  const where = stored.trapped === null ? 0 : playback.here(stored.trapped);
  const column = (100 * ((where % columns) + 0.5)) / columns;
  const name = safe ? "Keeps a way home" : "Takes any way";
  return (
    <figure class={`screen ${safe ? "safe" : "unsafe"}${lost ? " lost" : ""}`} data-run={stored.id}>
      <figcaption>
        <h2>{name}</h2>
        <span class="unit">
          {safe
            ? `with probability δ = ${levelName(stored.delta ?? 0)}, whenever it is called off`
            : explorerName(stored.explorer)}
        </span>
      </figcaption>
      <div class="screen-map" style={{ aspectRatio: `${columns * dx} / ${rows * dy}` }}>
        <canvas
          ref={element}
          role="img"
          aria-label={`${name}: ${percent(playback.share(now))} of the ground seen, ${wayWord(way, lost)}`}
        />
        {lost && (
          <p
            class={`flag${column > 62 ? " left" : ""}`}
            style={{
              left: `${column}%`,
              top: `${(100 * (Math.floor(where / columns) + 0.5)) / rows}%`,
            }}
          >
            Trapped at step {stored.trapped}
          </p>
        )}
      </div>
      <dl class="counters">
        <div>
          <dt>seen</dt>
          <dd>{percent(playback.share(now))}</dd>
        </div>
        <div class={lost || way < stored.level - 1e-9 ? "bad" : "good"}>
          <dt title="from where it is now">way home</dt>
          <dd>{lost ? "none" : way >= 1 ? percent(1) : `≥ ${percent(way, true)}`}</dd>
        </div>
        {(lost || ended || stored.trapped !== null) && (
          <div class={lost || ended ? "outcome" : "outcome yet"}>
            <dt>outcome</dt>
            <dd>{lost ? LOST : (stored.why ?? "It ended here.")}</dd>
          </div>
        )}
      </dl>
    </figure>
  );
}

function wayWord(way: number, lost: boolean): string {
  return lost ? "trapped, no way home" : `way home with probability at least ${percent(way, true)}`;
}

/** Format a share; a lower bound is never rounded up. */
export function percent(value: number, down = false): string {
  const digits = down && value < 1 && value > 0.99 ? 1 : 0;
  const scale = 10 ** digits;
  const shown = down ? Math.floor(value * 100 * scale + 1e-9) / scale : Math.round(value * 100);
  return `${shown}\u00a0%`;
}
