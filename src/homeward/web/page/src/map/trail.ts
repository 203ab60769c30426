// The path as a line without repetition: each move between two cells once, in the order of the
// first time. What was gone up to a step is then a beginning of the list.

export class Trail {
  count = 0;
  from = new Int32Array(64); // [≥ count]
  to = new Int32Array(64); // [≥ count]
  step = new Int32Array(64); // [≥ count] rising: the step that first made the move, from 1
  private path: Int32Array = new Int32Array(); // that was followed
  private start = -1;
  private readonly known = new Set<number>();

  /** Follow a path from `start` to `next` [N]; return whether the moves that were known stay. */
  follow(start: number, next: Int32Array): boolean {
    if (next === this.path && start === this.start) return true;
    const same = start === this.start && begins(next, this.path);
    if (!same) {
      this.count = 0;
      this.known.clear();
    }
    const done = same ? this.path.length : 0;
    let here = done > 0 ? (next[done - 1] as number) : start;
    for (let i = done; i < next.length; i++) {
      const there = next[i] as number;
      const key = Math.min(here, there) * 67108864 + Math.max(here, there); // 2^26 cells at most
      if (there !== here && !this.known.has(key)) {
        this.known.add(key);
        this.add(here, there, i + 1);
      }
      here = there;
    }
    [this.path, this.start] = [next, start];
    return same;
  }

  /** Count the moves that were first made up to a step. */
  upTo(step: number): number {
    let [low, high] = [0, this.count];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.step[middle] as number) <= step) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  private add(from: number, to: number, step: number): void {
    const at = this.count++;
    if (at === this.from.length) [this.from, this.to, this.step] = [twice(this.from), twice(this.to), twice(this.step)];
    this.from[at] = from;
    this.to[at] = to;
    this.step[at] = step;
  }
}

function begins(path: Int32Array, first: Int32Array): boolean {
  return path.length >= first.length && first.every((cell, i) => path[i] === cell);
}

function twice(array: Int32Array): Int32Array<ArrayBuffer> {
  const longer = new Int32Array(2 * array.length);
  longer.set(array);
  return longer;
}
