// Lines with more points than pixels: the lowest and the highest of each pixel column, so that no spike is lost.

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
 * Points of the range with one point beyond each of its ends, at most about two for each of `columns`.
 * A gap (not a number) in a column stays one.
 */
export function decimate(
  t: Float64Array,
  v: Float64Array,
  from: number,
  to: number,
  columns: number,
): { t: number[]; v: (number | null)[] } {
  const first = Math.max(0, lowerBound(t, from) - 1);
  const last = Math.min(t.length, lowerBound(t, to) + 1);
  const outT: number[] = [];
  const outV: (number | null)[] = [];
  const push = (i: number): void => {
    outT.push(t[i]);
    outV.push(Number.isNaN(v[i]) ? null : v[i]);
  };
  if (last - first <= 2 * columns) {
    for (let i = first; i < last; i++) push(i);
    return { t: outT, v: outV };
  }
  const width = (to - from) / columns;
  let i = first;
  while (i < last) {
    const end = from + (Math.floor((t[i] - from) / width) + 1) * width;
    let low = -1;
    let high = -1;
    let gap = -1;
    for (; i < last && (t[i] < end || (low < 0 && high < 0 && gap < 0)); i++) {
      if (Number.isNaN(v[i])) gap = i;
      else {
        if (low < 0 || v[i] < v[low]) low = i;
        if (high < 0 || v[i] > v[high]) high = i;
      }
    }
    const kept = [...new Set([low, high, gap].filter((k) => k >= 0))].sort((a, b) => a - b);
    kept.forEach(push);
  }
  return { t: outT, v: outV };
}

/** Index of the last element at or before `t`, or -1. */
export function indexBefore(sorted: Float64Array, t: number): number {
  const i = lowerBound(sorted, t);
  return i < sorted.length && sorted[i] === t ? i : i - 1;
}
