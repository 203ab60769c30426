// The entry of an exported file: the playbacks are in the file itself, and nothing is fetched.

import "../styles/base.css";
import "../styles/player.css";
import { render } from "preact";
import "../parts/theme";
import { Player } from "./player";
import type { Stored } from "./playback";

const root = document.getElementById("player");
const data = document.getElementById("playbacks");
if (root && data) {
  const runs = JSON.parse(data.textContent ?? "[]") as Stored[];
  const levels = new Set(runs.map(({ level }) => level));
  const level = levels.size === 1 ? [...levels].join("") : "δ, named above each map,";
  const title = runs.map(({ id }) => id).join(" and ");
  render(
    <main class="exported stack">
      <h1>{title}</h1>
      <p class="soft">
        Green line: inside it a way home is proven with probability {level} or more;
        darker ground has none. The house is home, the dot the explorer.
        {runs.some(({ targets }) => targets.length) && " Stars are targets, yellow once they are reached."}
      </p>
      <Player runs={runs} />
    </main>,
    root,
  );
}
