// The heights along a way home, as a small plot.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Way } from "../api";
import type { Scene } from "../run/scene";
import { figure } from "../words";

const [WIDE, HIGH, LEFT, BOTTOM] = [340, 96, 56, 18];

export function Profile({ scene, way }: { scene: Scene; way: Way }) {
  const heights = useSignal<number[]>([]);
  const cells = [...way.edges.map((edge) => edge.from), way.edges[way.edges.length - 1]?.to ?? way.cell];
  const key = cells.join(",");
  useEffect(() => {
    void scene.heights(cells).then((found) => (heights.value = found));
  }, [key, scene.step.value]);
  const details = scene.run.details.value;
  const [rows, columns] = details?.shape ?? [1, 1];
  const [dy, dx] = details?.cell ?? [1, 1];
  const known = heights.value;
  if (!rows || known.length !== cells.length || !known.some(Number.isFinite)) return null;
  const places = [0];
  for (let i = 1; i < cells.length; i++) {
    const [a, b] = [cells[i - 1] as number, cells[i] as number];
    const down = (Math.floor(b / columns) - Math.floor(a / columns)) * dy;
    const across = ((b % columns) - (a % columns)) * dx;
    places.push((places[i - 1] as number) + Math.hypot(down, across));
  }
  const finite = known.filter(Number.isFinite);
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const length = places[places.length - 1] as number;
  const x = (place: number): number => LEFT + (place / Math.max(1e-9, length)) * (WIDE - LEFT - 6);
  const y = (height: number): number =>
    HIGH - BOTTOM - ((height - low) / Math.max(1e-9, high - low)) * (HIGH - BOTTOM - 10);
  const drawn = known.map((height) => (Number.isFinite(height) ? height : low)); // unseen ones lowest
  const points = drawn.map((height, i) => `${x(places[i] as number).toFixed(1)},${y(height).toFixed(1)}`);
  const unit = details?.cell ? "m" : "";
  return (
    <figure class="profile">
      <svg
        viewBox={`0 0 ${WIDE} ${HIGH}`}
        role="img"
        aria-label={`Height along the way home: ${figure(low, 5)} to ${figure(high, 5)} ${unit} over ${figure(length, 3)} ${unit || "steps"}`}
      >
        <polyline class="ground" points={points.join(" ")} />
        <circle class="here" cx={x(0)} cy={y(drawn[0] ?? low)} r="4" />
        <text x={LEFT - 5} y={y(high) + 4} class="end">
          {high.toFixed(1)}
        </text>
        <text x={LEFT - 5} y={y(low) + 4} class="end">
          {low.toFixed(1)}
        </text>
        <text x={LEFT} y={HIGH - 3}>
          here
        </text>
        <text x={WIDE - 6} y={HIGH - 3} class="end">
          home, {figure(length, 3)} {unit || "steps"}
        </text>
      </svg>
      <figcaption class="fine soft">Height along it{unit && " in m"}</figcaption>
    </figure>
  );
}
