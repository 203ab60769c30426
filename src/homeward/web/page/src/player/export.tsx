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
  const [first] = runs;
  const title = runs.map(({ id }) => id).join(" and ");
  render(
    <main class="exported stack">
      <h1>{title}</h1>
      <p class="soft">
        Green line: inside it a way home is proven with probability {first?.level ?? ""} or more;
        darker ground has none. The house is home, the dot the explorer.
      </p>
      <Player runs={runs} />
    </main>,
    root,
  );
}
