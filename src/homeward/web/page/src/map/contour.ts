// The border of a set of cells, as line segments along the sides of cells.

/** Return segments x₀, y₀, x₁, y₁ in columns and rows; sides in a row are one segment. */
export function borderOf(inside: ArrayLike<number>, rows: number, columns: number): Float32Array {
  const found: number[] = [];
  const is = (r: number, c: number): boolean =>
    r >= 0 && c >= 0 && r < rows && c < columns && !!inside[r * columns + c];
  for (let r = 0; r <= rows; r++) {
    for (let c = 0, from = -1; c <= columns; c++) {
      const side = c < columns && is(r - 1, c) !== is(r, c);
      if (side && from < 0) from = c;
      if (!side && from >= 0) {
        found.push(from, r, c, r);
        from = -1;
      }
    }
  }
  for (let c = 0; c <= columns; c++) {
    for (let r = 0, from = -1; r <= rows; r++) {
      const side = r < rows && is(r, c - 1) !== is(r, c);
      if (side && from < 0) from = r;
      if (!side && from >= 0) {
        found.push(c, from, c, r);
        from = -1;
      }
    }
  }
  return Float32Array.from(found);
}
