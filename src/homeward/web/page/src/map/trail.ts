// The path as a line without repetition: each move between two cells once, in the order of the
// first time. What was gone up to a step is then a beginning of the list.

export interface Trail {
  from: Int32Array; // [E]
  to: Int32Array; // [E]
  step: Int32Array; // [E] rising: the step that first made the move, from 1
  count: number;
}

/** Find the moves of a path that begins at `start` and goes on to `next` [N]. */
export function trailOf(start: number, next: Int32Array, steps: number): Trail {
  const from = new Int32Array(steps);
  const to = new Int32Array(steps);
  const step = new Int32Array(steps);
  const known = new Set<number>();
  let count = 0;
  let here = start;
  for (let i = 0; i < steps; i++) {
    const there = next[i] as number;
    if (there === here) continue;
    const key = Math.min(here, there) * 67108864 + Math.max(here, there); // 2^26 cells at most
    if (!known.has(key)) {
      known.add(key);
      from[count] = here;
      to[count] = there;
      step[count] = i + 1;
      count++;
    }
    here = there;
  }
  return { from, to, step, count };
}

/** Count the moves that were first made up to a step. */
export function upTo(trail: Trail, step: number): number {
  let [low, high] = [0, trail.count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((trail.step[middle] as number) <= step) low = middle + 1;
    else high = middle;
  }
  return low;
}
