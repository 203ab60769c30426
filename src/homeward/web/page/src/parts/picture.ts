// The view as a PNG: the map as it is on view, with title and legend.

import type { Details } from "../api";
import type { Shown } from "../map/worker";
import { explorerName, titleOf, worldOf } from "../words";
import { keyOf } from "./legend";
import { colour } from "./theme";

/** Save a picture of a map; give the file's name. */
export async function savePicture(
  map: HTMLCanvasElement,
  details: Details,
  shown: (Shown | null)[],
  step: number,
): Promise<string> {
  const ratio = map.width / Math.max(1, map.clientWidth);
  const keys = shown.flatMap((each) => (each ? (keyOf(details, each) ?? []) : []));
  const [head, foot] = [64, 20 + 52 * Math.max(1, keys.length)];
  const canvas = document.createElement("canvas");
  canvas.width = map.width;
  canvas.height = map.height + (head + foot) * ratio;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("This browser can't draw on a canvas.");
  context.fillStyle = colour("paper");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(map, 0, head * ratio);
  context.scale(ratio, ratio);
  context.fillStyle = colour("ink");
  context.textBaseline = "middle";
  context.font = "600 18px system-ui, sans-serif";
  context.fillText(titleOf(details), 16, 24);
  context.font = "13px system-ui, sans-serif";
  context.fillStyle = colour("soft");
  const level = details.delta === null ? "" : `, δ = ${details.delta}`;
  context.fillText(
    `${worldOf(details)}; ${explorerName(details.explorer)}${level}; after ${step} steps`,
    16,
    47,
  );
  let y = head + map.clientHeight + 26;
  for (const key of keys) {
    context.fillStyle = colour("ink");
    context.font = "600 13px system-ui, sans-serif";
    const title = key.unit ? `${key.title} in ${key.unit}` : key.title;
    context.fillText(title, 16, y);
    let x = 16 + Math.max(150, context.measureText(title).width + 20);
    context.font = "12px system-ui, sans-serif";
    if (key.bar) {
      const wide = 220;
      const stops = key.bar.colours.split(", ");
      const fill = context.createLinearGradient(x, 0, x + wide, 0);
      stops.forEach((stop, i) => fill.addColorStop(i / (stops.length - 1), stop));
      context.fillStyle = fill;
      context.fillRect(x, y - 7, wide, 12);
      context.fillStyle = colour("soft");
      context.textAlign = "center";
      for (const tick of key.bar.ticks) context.fillText(tick.text, x + tick.at * wide, y + 16);
      context.textAlign = "left";
      x += wide + 28;
    }
    for (const swatch of key.swatches) {
      context.fillStyle = swatch.colour;
      context.fillRect(x, y - 7, 14, 14);
      context.fillStyle = colour("soft");
      context.fillText(swatch.text, x + 20, y);
      x += 36 + context.measureText(swatch.text).width;
    }
    y += 52;
  }
  const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/png"));
  if (!blob) throw new Error("The picture could not be made.");
  const name = `${details.id}-${step}.png`;
  const anchor = document.createElement("a");
  anchor.href = URL.createObjectURL(blob);
  anchor.download = name;
  anchor.click();
  window.setTimeout(() => URL.revokeObjectURL(anchor.href), 10_000);
  return name;
}
