// Lines with more points than pixels: the lowest and the highest of each pixel column, so
// that no spike is lost.

/** Index of the first element that is not before `t`. */
export function lowerBound(sorted: Float64Array, t: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Values of one line in rows that all lines share: null is a gap, undefined is
 * "nothing to say here".
 */
export type Row = number | null | undefined;

/** How many points of a line lie in a range, with one beyond each end. */
function reach(t: Float64Array, from: number, to: number): [number, number] {
  return [Math.max(0, lowerBound(t, from) - 1), Math.min(t.length, lowerBound(t, to) + 1)];
}

/**
 * The points of the range with one beyond each of its ends, when they are few enough to
 * be drawn one by one.
 */
export function raw(
  line: { t: Float64Array; v: Float64Array },
  from: number,
  to: number,
  most: number,
): [number[], Row[]] | null {
  const [first, last] = reach(line.t, from, to);
  if (last - first > most) return null;
  const values = Array.from(line.v.subarray(first, last), (v) => (Number.isNaN(v) ? null : v));
  return [Array.from(line.t.subarray(first, last)), values];
}

/**
 * Many points in as many rows as there are pixels: two for each of `columns` (and for what lies
 * just beyond either end), the lowest and the highest value in the order in which they came. A
 * column of gaps alone stays a gap. All lines share the rows, so that drawing costs the same for
 * few points and for millions.
 */
export function decimate(
  lines: { t: Float64Array; v: Float64Array }[],
  from: number,
  to: number,
  columns: number,
): { t: number[]; rows: Row[][] } {
  const width = (to - from) / columns;
  const t = Array.from({ length: 2 * (columns + 2) }, (_, row) => from + (row / 2 - 0.75) * width);
  const rows = lines.map((line) => {
    const out: Row[] = new Array<Row>(t.length).fill(undefined);
    const [first, last] = reach(line.t, from, to);
    let i = first;
    while (i < last) {
      const column = Math.min(columns + 1, Math.max(0, Math.floor((line.t[i] - from) / width) + 1));
      const end = column > columns ? Infinity : from + column * width;
      let low = -1;
      let high = -1;
      do {
        const value = line.v[i];
        if (!Number.isNaN(value)) {
          if (low < 0 || value < line.v[low]) low = i;
          if (high < 0 || value > line.v[high]) high = i;
        }
        i++;
      } while (i < last && line.t[i] < end);
      out[2 * column] = low < 0 ? null : line.v[Math.min(low, high)];
      if (low !== high) out[2 * column + 1] = line.v[Math.max(low, high)];
    }
    return out;
  });
  return { t, rows };
}

/** Index of the last element at or before `t`, or -1. */
export function indexBefore(sorted: Float64Array, t: number): number {
  const i = lowerBound(sorted, t);
  return i < sorted.length && sorted[i] === t ? i : i - 1;
}
