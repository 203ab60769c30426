// How the map is shown: which layer, which one over it, and which part. Two maps share it, but for the
// part where they are not of the same shape.

import { computed, signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { Details, Layer } from "../api";
import type { Link, Port } from "../link";
import type { Palette } from "../map/colours";
import type { Ground, How, Range } from "../map/paint";
import type { RunModel } from "./model";

export class Show {
  readonly layer = signal("height");
  readonly over = signal<string | null>(null);
  readonly mix = signal(0.5);
  readonly ports: readonly [Signal<Port | null>, Signal<Port | null>];
  readonly apart = computed(() => {
    const shapes = this.runs.flatMap((run) => {
      const details = run.details.value;
      return details?.shape ? [JSON.stringify([details.shape, details.cell])] : [];
    });
    return new Set(shapes).size > 1;
  });

  constructor(
    link: Link,
    private readonly runs: readonly RunModel[],
  ) {
    if (link.layer) this.layer.value = link.layer;
    this.over.value = link.over;
    if (link.mix !== null) this.mix.value = link.mix;
    this.ports = [signal(link.port), signal(link.other)];
  }

  /** Give the part that a map shows, the first or the second. */
  portOf(map: number): Signal<Port | null> {
    return this.ports[this.apart.value && map ? 1 : 0];
  }
}

/** Give a layer by its name, or the first there is. */
export function layerOf(details: Details, name: string | null): Layer | null {
  return details.layers.find((layer) => layer.name === name) ?? details.layers[0] ?? null;
}

export function isGrid(details: Details): boolean {
  return details.layers.some((layer) => layer.name === "height" && layer.scale === "categorical");
}

export function groundOf(details: Details): Ground {
  const [rows, columns] = details.shape ?? [1, 1];
  return { rows, columns, cell: details.cell, marked: isGrid(details) };
}

/** Say how a layer is coloured. */
export function howOf(layer: Layer): How {
  const heights = layer.name === "height" || layer.name === "truth";
  if (heights)
    return layer.scale === "categorical"
      ? { way: "heights" }
      : { way: "relief", palette: "ground", dims: layer.name === "truth" };
  if (layer.scale === "categorical") return { way: "marks" };
  return {
    way: "scale",
    palette: paletteOf(layer),
    log: layer.name === "uncertainty" && layer.unit === "m",
  };
}

export function paletteOf(layer: Layer): Palette {
  if (layer.scale === "probability") return "viridis";
  return layer.scale === "diverging" ? "diverging" : "cividis";
}

/** Give the ends of a scale that is the same in every run; null where the run decides. */
export function fixedOf(layer: Layer): Range | null {
  if (layer.scale === "probability" || layer.scale === "categorical") return { low: 0, high: 1 };
  return null;
}
