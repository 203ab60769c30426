// The way home from a cell: a table of its moves with their risks.

import type { Slopes } from "../api";
import type { Scene } from "../run/scene";
import { beside, cellName, chance, minus } from "../words";
import { IconButton } from "./icons";
import { Numbers } from "./numbers";
import { Profile } from "./profile";

export function WayPanel({ scene }: { scene: Scene }) {
  const cell = scene.selected.value;
  const details = scene.run.details.value;
  if (!details?.shape) return null;
  const columns = details.shape[1];
  if (cell === null) {
    return (
      <p class="soft fine">
        Click a cell of the map, or select it with the arrow keys and press Enter, to see its way
        home.
      </p>
    );
  }
  const way = scene.way.value;
  const sloped = way?.profile?.slopes.some((slope) => slope !== null) ?? false;
  const level = (scene.why.value ?? details).criteria.find(({ kind }) => kind === "return")?.level;
  return (
    <section class="way card" aria-label="Way home" aria-live="polite">
      <header>
        <h2>Way home from {cellName(cell, columns)}</h2>
        <IconButton
          icon="close"
          label="Close the way home"
          onClick={() => (scene.selected.value = null)}
        />
      </header>
      {!way && <p class="soft">Computing it…</p>}
      {way && way.edges.length === 0 && (
        <p>{way.bound > 0 ? "This is home." : "No way home can be proven from here."}</p>
      )}
      {way && way.edges.length > 0 && (
        <>
          <p>
            It succeeds with probability at least <b class="num">{beside(way.bound, level).replace(">", "")}</b>: 1 minus the
            risks of its {way.edges.length} {way.edges.length === 1 ? "move" : "moves"}.
          </p>
          {way.profile && <Profile details={details} ground={way.profile} />}
          <Numbers
            label="Moves of the way home"
            heads={["move", "to", ...(sloped ? ["slope"] : []), "success", "risk", "still to come"]}
          >
            {way.edges.map((edge, i) => (
              <tr key={edge.from}>
                <th scope="row">{details.actions[edge.action]?.name ?? edge.action}</th>
                <td>
                  {Math.floor(edge.to / columns)}, {edge.to % columns}
                </td>
                {sloped && <td>{slopeWord(way.profile?.slopes[i] ?? null)}</td>}
                <td>{chance(edge.success, 3)}</td>
                <td data-value={String(edge.risk)}>{chance(edge.risk)}</td>
                <td>{beside(edge.left, level)}</td>
              </tr>
            ))}
          </Numbers>
        </>
      )}
    </section>
  );
}

/** Return the steepest slope of a move: up is positive. */
function slopeWord(slope: Slopes | null): string {
  if (!slope) return "–";
  return minus(`${(slope.up >= slope.down ? slope.up : -slope.down).toFixed(1)}°`);
}
