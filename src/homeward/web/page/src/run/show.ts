// How the map is shown: its layer, the layer over it, and the part on view. Two maps share it, except
// for the part on view if their shapes differ.

import { computed, signal } from "@preact/signals";
import type { Signal } from "@preact/signals";
import type { Details, Layer } from "../api";
import type { Link, Port } from "../link";
import type { Ground, How, Range } from "../map/paint";
import { dark } from "../parts/theme";
import type { RunModel } from "./model";

export class Show {
  readonly layer = signal("height");
  readonly over = signal<string | null>(null);
  readonly mix = signal(0.5);
  readonly ports: readonly [Signal<Port | null>, Signal<Port | null>]; // of the first map, of the others
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

  /** Return the part on view of the first or the second map. */
  portOf(map: number): Signal<Port | null> {
    return this.ports[this.apart.value && map ? 1 : 0];
  }
}

/** The level of the region with a way home, for runs without a level. */
export const DEFAULT_LEVEL = 0.9;

/** Show a layer as the base of the map, and no longer over it. */
export function selectLayer(show: Show, name: string): void {
  show.layer.value = name;
  if (show.over.value === name) show.over.value = null;
}

/** Return a layer by its name, or the first one. */
export function layerOf(details: Details, name: string | null): Layer | null {
  return details.layers.find((layer) => layer.name === name) ?? details.layers[0] ?? null;
}

export function isGrid(details: Details): boolean {
  return details.layers.some((layer) => layer.name === "height" && layer.scale === "categorical");
}

export function groundOf(details: Details): Ground {
  const [rows, columns] = details.shape ?? [1, 1];
  return { rows, columns, cell: details.cell, marked: isGrid(details), dark: dark.value };
}

/** Return how a layer is coloured. */
export function howOf(layer: Layer): How {
  const heights = layer.name === "height" || layer.name === "truth";
  if (heights)
    return layer.scale === "categorical"
      ? { way: "heights" }
      : { way: "relief", palette: "ground", dims: layer.name === "truth" };
  if (layer.scale === "categorical") return { way: "marks" };
  return {
    way: "scale",
    palette: layer.scale === "probability" ? "viridis" : "cividis",
    log: layer.name === "uncertainty" && layer.unit === "m",
  };
}

/** Return the ends of a scale that is the same in every run; null if it depends on the run. */
export function fixedOf(layer: Layer): Range | null {
  if (layer.scale === "probability" || layer.scale === "categorical") return { low: 0, high: 1 };
  return null;
}
