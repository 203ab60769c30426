// The way home from a cell, edge by edge, with what each edge risks.

import type { Scene } from "../run/scene";
import { beside, cellName, chance } from "../words";
import { Icon } from "./icons";

export function WayPanel({ scene }: { scene: Scene }) {
  const cell = scene.selected.value;
  const details = scene.run.details.value;
  if (!details?.shape) return null;
  const columns = details.shape[1];
  if (cell === null) {
    return (
      <p class="hint soft">
        Click a cell of the map, or point at it with the arrow keys and press Enter, to see its way
        home.
      </p>
    );
  }
  const way = scene.way.value;
  const level = (scene.why.value ?? details).criteria.find(({ kind }) => kind === "return")?.level;
  return (
    <section class="way card" aria-label="Way home" aria-live="polite">
      <header>
        <h2>Way home from {cellName(cell, columns)}</h2>
        <button
          class="quiet"
          aria-label="Put the way home away"
          onClick={() => (scene.selected.value = null)}
        >
          <Icon name="close" />
        </button>
      </header>
      {!way && <p class="soft">Looking for it…</p>}
      {way && way.edges.length === 0 && way.bound <= 0 && (
        <p>There is none that could be proven to work at all.</p>
      )}
      {way && way.edges.length === 0 && way.bound > 0 && <p>This is home.</p>}
      {way && way.edges.length > 0 && (
        <>
          <p>
            It works with probability at least <b class="num">{beside(way.bound, level)}</b>: 1 less the
            risk of each of its {way.edges.length} {way.edges.length === 1 ? "move" : "moves"}.
          </p>
          <div class="scroll" tabIndex={0} role="region" aria-label="Moves of the way home">
            <table class="numbers-table">
              <thead>
                <tr>
                  <th scope="col">move</th>
                  <th scope="col">to</th>
                  <th scope="col">success</th>
                  <th scope="col">risk</th>
                  <th scope="col">from there on</th>
                </tr>
              </thead>
              <tbody>
                {way.edges.map((edge) => (
                  <tr key={edge.from}>
                    <th scope="row">{details.actions[edge.action]?.name ?? edge.action}</th>
                    <td>
                      {Math.floor(edge.to / columns)}, {edge.to % columns}
                    </td>
                    <td>{chance(edge.success, 3)}</td>
                    <td data-value={String(edge.risk)}>{chance(edge.risk)}</td>
                    <td>{beside(edge.left, level)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        </>
      )}
    </section>
  );
}
