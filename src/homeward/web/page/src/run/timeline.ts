// The events of a run, loaded once there are steps, and again when it has ended.

import { effect, signal } from "@preact/signals";
import type { ReadonlySignal, Signal } from "@preact/signals";
import { getJson, runUrl } from "../api";
import type { Timeline, TimelineEvent } from "../api";
import { figure, hasLevel, isOfRun, levelName } from "../words";
import type { RunModel } from "./model";

const [MAX_TRIES, RETRY_MS] = [10, 4000]; // where another request interrupted the search for events

const WORDS: Record<TimelineEvent["code"], string> = {
  reached: "reached the place that it headed for",
  news: "news changed the plan: it heads elsewhere",
  spent: "spent some of the risk that δ allows",
  refused: "refused a better look as unsafe",
  trapped: "trapped: no way home is left",
  ended: "ended",
};

/** An event, and whose it is where several runs are compared. */
export type Happened = TimelineEvent & { who?: string };

const MIN_SPENT = 1e-6; // below it a risk is not told
const MAX_MARKS = 300; // along the slider
const LOUD = ["trapped", "refused", "spent", "ended"]; // the most important first; others are quiet

/** Return the rank of an event: the most important have the lowest. */
export function rank({ code }: TimelineEvent): number {
  return LOUD.includes(code) ? LOUD.indexOf(code) : LOUD.length;
}

/** Return the events that are marked along a slider, by step: of those that would lie on each other the most important one. */
export function marksOf(events: Happened[], last: number): Happened[] {
  const places = new Map<number, Happened>();
  for (const event of events) {
    const place = Math.floor((MAX_MARKS * event.step) / (last + 1));
    const other = places.get(place);
    if (!other || rank(event) < rank(other)) places.set(place, event);
  }
  return [...places.values()].sort((a, b) => a.step - b.step);
}

/** Return an event as a sentence. */
export function eventWord({ step, code, amount, who }: Happened): string {
  const part = amount === null ? "" : ` (${Number(amount.toPrecision(2))})`;
  return `${who ? `${who}, step` : "Step"} ${step}: ${WORDS[code]}${part}.`;
}

/** Return how much of the risk that δ allows a run has spent, in a sentence; "" without such a budget. */
export function riskWord({ details, columns }: RunModel): string {
  const [about, { kept, criteria }] = [details.value, columns.value];
  const home = about?.criteria.findIndex(({ kind }) => kind === "return") ?? -1;
  const delta = about?.delta ?? 1;
  if (!about || !isOfRun(about) || !hasLevel(about) || delta >= 1 || home < 0 || !kept.length) return "";
  const spent = 1 - kept.reduce((least, each, n) => (n % criteria === home ? Math.min(least, each) : least), 1);
  const risked = spent < MIN_SPENT ? `less than ${figure(MIN_SPENT)}` : figure(spent, 2);
  return `Of the risk of ${figure(1 - delta)} that δ = ${levelName(delta)} allows, ${risked} was spent.`;
}

/** Load the events of a run once its first map and reasons are there, since the same process makes them.
 *
 * Return the events, and what ends the loading.
 */
export function eventsOf(
  run: RunModel,
  ready: ReadonlySignal<boolean>,
): { events: Signal<TimelineEvent[]>; stop: () => void } {
  const events = signal<TimelineEvent[]>([]);
  let asked = "";
  let later = 0;
  const stop = effect(() => {
    const details = run.details.value;
    if (run.going.value) events.value = events.peek().filter(({ code }) => code !== "ended"); // it goes on
    if (!details?.shape || !details.steps || run.going.value || !ready.value) return;
    const state = `${details.created}/${details.status}/${details.steps}`;
    if (state === asked) return;
    asked = state;
    let tries = 0;
    const ask = (): void => {
      getJson<Timeline>(runUrl(run.id, "/timeline"))
        .then((found) => {
          events.value = found.events;
          if (!found.complete && ++tries < MAX_TRIES) later = window.setTimeout(ask, RETRY_MS);
        })
        .catch(() => undefined); // the slider does without
    };
    ask();
  });
  return {
    events,
    stop: () => {
      window.clearTimeout(later);
      stop();
    },
  };
}
