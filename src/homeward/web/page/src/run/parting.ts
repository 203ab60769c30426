// Where compared runs part, and why: the first step at which their moves differ, and both decisions there.

import type { Why, WhyAction } from "../api";
import { beside, cellName, figure, keeps, levelName } from "../words";
import type { Columns } from "./model";

/** Return the number of steps that two runs have in common: they differ at the next one, or one ends. */
export function shared(one: Columns, other: Columns): number {
  const most = Math.min(one.count, other.count);
  for (let step = 0; step < most; step++)
    if (one.next[step] !== other.next[step] || one.state[step] !== other.state[step]) return step;
  return most;
}

/** A decision of a run where it parts from another one. */
export interface Decided {
  name: string;
  level: number | null;
  ofRun: boolean; // whether the level is for the whole run, and not for the plan
  why: Why;
}

/** Return why two runs with the same past decided differently. */
export function partingWord(one: Decided, other: Decided, columns: number): string {
  // Of a plan at its own level, the evidence of a move is that of the plan, not of a way home.
  for (const [bold, careful] of one.ofRun && other.ofRun ? ([[one, other], [other, one]] as const) : []) {
    const refused = careful.why.actions.find(
      ({ action, verdict }) => action === bold.why.action && verdict === "unsafe",
    );
    if (refused) return `${bold.name} moves ${refused.name}, which ${careful.name} refuses: ${lackOf(refused, careful)}.`;
  }
  return `${headsFor(other, columns)}, ${headsFor(one, columns)}.`;
}

/** Return by how much a refused move misses the level. */
function lackOf({ safety }: WhyAction, { level, why }: Decided): string {
  const least = why.criteria.findIndex(({ kind }) => kind === "return");
  const found = safety[least];
  if (level === null || found === undefined) return "too little way home";
  const below = keeps(found, level) ? ", and the risk that is left does not cover it" : `, below ${levelName(level)}`;
  return `a way home with probability ${beside(found, level)} after it${below}`;
}

/** Return the name of the chosen move. */
function moveOf(why: Why): string {
  return why.actions.find(({ action }) => action === why.action)?.name ?? "";
}

/** Return what a run heads for, what it expects of it and what it may risk for it. */
function headsFor({ name, why }: Decided, columns: number): string {
  const { proposal } = why;
  if (!proposal) return `${name} ${why.action === null ? "ends" : `moves ${moveOf(why)}`}`;
  const spends = proposal.share ? `, ${figure(100 * proposal.share, 2)} % of the risk it has left` : "";
  const place = cellName(proposal.path[proposal.path.length - 1] ?? why.state, columns);
  return `${name} moves ${moveOf(why)} towards ${place} (${figure(proposal.rate, 3)} ${proposal.unit ?? "bonus"} per step${spends})`;
}
