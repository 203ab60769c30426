// The heights along a way home, as a small plot, and the steepest slopes on it.

import type { Details, Profile as Ground } from "../api";
import { figure, isDriven, minus } from "../words";

const [WIDE, HIGH, LEFT, BOTTOM] = [340, 96, 56, 18];

export function Profile({ details, ground }: { details: Details; ground: Ground }) {
  const finite = ground.height.filter((height) => height !== null);
  if (!finite.length) return null;
  const [low, high] = [Math.min(...finite), Math.max(...finite)];
  const length = ground.distance[ground.distance.length - 1] ?? 0;
  const x = (place: number): number => LEFT + (place / Math.max(1e-9, length)) * (WIDE - LEFT - 6);
  const y = (height: number): number =>
    HIGH - BOTTOM - ((height - low) / Math.max(1e-9, high - low)) * (HIGH - BOTTOM - 10);
  const drawn = ground.height.map((height) => height ?? low); // unseen ones lowest
  const points = drawn.map((height, i) => `${x(ground.distance[i] ?? 0).toFixed(1)},${y(height).toFixed(1)}`);
  const unit = details.cell ? "m" : "";
  const where = isDriven(details) ? ", on the terrain model along the way that is driven" : "";
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
          {minus(high.toFixed(1))}
        </text>
        <text x={LEFT - 5} y={y(low) + 4} class="end">
          {minus(low.toFixed(1))}
        </text>
        <text x={LEFT} y={HIGH - 3}>
          here
        </text>
        <text x={WIDE - 6} y={HIGH - 3} class="end">
          home, {figure(length, 3)} {unit || "steps"}
        </text>
      </svg>
      <figcaption class="fine soft">
        Height along it{unit && " in m"}
        {where}.{steepestWord(details, ground)}
      </figcaption>
    </figure>
  );
}

/** Return the steepest slopes of a way beside the vehicle's limits, in a sentence; "" without slopes. */
function steepestWord({ config }: Details, { slopes }: Ground): string {
  const known = slopes.filter((slope) => slope !== null);
  if (!known.length) return "";
  const parts = ([["up", "climb"], ["down", "descend"], ["side", "roll"]] as const).flatMap(([way, limit]) => {
    const steepest = Math.max(...known.map((slope) => slope[way] ?? -1));
    if (steepest < 0) return [];
    const most = typeof config[limit] === "number" ? ` (limit ${figure(config[limit])}°)` : "";
    return `${steepest.toFixed(1)}° ${way === "side" ? "to the side" : way}${most}`;
  });
  return ` Steepest: ${parts.join(", ")}.`;
}
