// The first screen: two explorers on the same ground, already playing; three doors; the runs.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { to } from "../link";
import { css, middleOf, surroundings } from "../map/colours";
import { dimmed } from "../map/paint";
import { dark } from "../parts/theme";
import { Player } from "../player/player";
import type { Stored } from "../player/playback";
import { levelName } from "../words";
import { RunsList } from "./runs";

const demo = signal<Stored[] | null>(null);

/** Load the two recorded runs that come with the page. */
function loadDemo(): void {
  if (demo.value) return;
  fetch(new URL("demo.json", import.meta.url))
    .then((answer) => (answer.ok ? (answer.json() as Promise<Stored[]>) : []))
    .then((runs) => (demo.value = runs))
    .catch(() => undefined); // the list says that the server does not answer
}

const DOORS = [
  {
    href: to("calloff"),
    title: "Try it yourself",
    text: "Set δ, call the exploration off, and watch a hundred rovers walk home.",
  },
  {
    href: `${to("new")}?terrain=upload`,
    title: "Use my terrain",
    text: "Upload an elevation model, set a vehicle, and get a path with a certificate.",
  },
  {
    href: to("stories"),
    title: "Read the reasons",
    text: "Three small worlds that show why simpler definitions of safety fail.",
  },
];

/** Which world the film shows, and what its colours mean. */
function FilmCaption({ runs }: { runs: Stored[] }) {
  const unseen = middleOf(surroundings(dark.value).greys);
  const level = runs.find(({ delta }) => delta !== null)?.delta ?? 0;
  const colours: [string, string][] = [
    [css(middleOf("ground")), "seen"],
    [css(unseen), "not yet seen"],
    [css(dimmed(unseen)), "darker: no proven way home"],
  ];
  return (
    <p class="film-caption row fine soft">
      <span>Film: synthetic Mars at δ = {levelName(level)}; not one of your runs.</span>
      {colours.map(([colour, text]) => (
        <span class="swatch" key={text}>
          <i style={{ background: colour }} />
          {text}
        </span>
      ))}
      <span class="swatch">
        <i class="mark-contour" />
        inside: way home proven
      </span>
    </p>
  );
}

export function FrontPage() {
  useEffect(loadDemo, []);
  return (
    <main class="list" id="main">
      <div class="hero stack">
        <h1>Same rover, same ground. Only one can still come home.</h1>
        <p>
          Both rovers go where they learn much per step. They can drive down slopes that they can't climb. The
          left one only goes where it can still return with probability δ or more; inside the green line
          that is proven. The right one doesn't ask, and crosses the line.
        </p>
        <div class="player-room">
          {demo.value?.length ? (
            <>
              <Player runs={demo.value} />
              <FilmCaption runs={demo.value} />
            </>
          ) : null}
        </div>
        <nav class="doors" aria-label="Where to go from here">
          {DOORS.map(({ href, title, text }) => (
            <a key={title} class="door" href={href}>
              <b>{title}</b>
              <span>{text}</span>
            </a>
          ))}
        </nav>
      </div>
      <RunsList />
    </main>
  );
}
