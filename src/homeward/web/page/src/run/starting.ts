// Starting runs, and the examples to start from.

import { signal } from "@preact/signals";
import { change, getJson } from "../api";
import type { Examples, Summary } from "../api";
import { to } from "../link";
import { attempt, complain } from "../messages";

/** The example worlds and counterexamples; null until they are loaded. */
export const examples = signal<Examples | null>(null);

export function loadExamples(): void {
  if (examples.value) return;
  getJson<Examples>("/api/v1/examples")
    .then((loaded) => (examples.value = loaded))
    .catch(complain);
}

/** What a run is made of. */
export interface Specification {
  kind: string;
  config: Record<string, unknown>;
  name?: string;
}

/** Start a run and open its view. */
export async function startRun(body: Specification): Promise<void> {
  const run = await attempt(() => change<Summary>("POST", "/api/v1/runs", body));
  if (run) location.hash = to("run", run.id);
}

/** Start a safe and an unsafe run in the same world and open them side by side. */
export async function startPair(body: Specification): Promise<void> {
  const pair = await attempt(() => change<Record<"safe" | "unsafe", Summary>>("POST", "/api/v1/pairs", body));
  if (pair) location.hash = to("compare", pair.safe.id, pair.unsafe.id);
}
