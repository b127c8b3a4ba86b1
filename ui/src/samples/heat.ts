// Heatmaps: when in each interval of time things happened (FlameScope's subsecond offset), or
// how long they lasted.

import { lowerBound } from "../decimate";
import type { Range } from "../view";

/** Cells column by column: `cells[column * rows + row]`, row 0 at the bottom. */
export interface Heat {
  cells: Float64Array;
  columns: number;
  rows: number;
  /** Where the first column begins, and how long one is, nanoseconds. */
  from: number;
  columnNs: number;
  /** How many lie in the range. */
  total: number;
  max: number;
  /**
   * Of a heatmap of latencies: the ends of its rows, nanoseconds, logarithmic;
   * null for one of offsets.
   */
  latency: { low: number; high: number } | null;
}

export const ROWS = 50;
/** Columns that are still wide enough to be hit. */
const MOST_COLUMNS = 360;
const STEPS_S = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 300, 600, 3600, 21600, 86400];

/** The length of a column for a range: round, and not too many of them. */
export function columnLength(range: Range): number {
  const width = (range.to - range.from) / 1e9;
  return (STEPS_S.find((s) => width / s <= MOST_COLUMNS) ?? width / MOST_COLUMNS) * 1e9;
}

function empty(range: Range, zero: number): Heat {
  const columnNs = columnLength(range);
  // Columns begin at round times, so that an offset means the same in all of them.
  const from = Math.floor((range.from - zero) / columnNs) * columnNs + zero;
  const columns = Math.max(1, Math.min(MOST_COLUMNS + 2, Math.ceil((range.to - from) / columnNs)));
  return {
    cells: new Float64Array(columns * ROWS),
    columns,
    rows: ROWS,
    from,
    columnNs,
    total: 0,
    max: 0,
    latency: null,
  };
}

/** Moments by their offset within a column. `t` is in order of time; `keep` says which count. */
export function offsets(t: Float64Array, keep: ((i: number) => boolean) | null, range: Range, zero: number): Heat {
  const heat = empty(range, zero);
  const perRow = heat.columnNs / ROWS;
  const last = lowerBound(t, range.to);
  for (let i = lowerBound(t, heat.from); i < last; i++) {
    if (keep && !keep(i)) continue;
    const cell = Math.floor((t[i] - heat.from) / perRow);
    if (cell < heat.cells.length) add(heat, cell);
  }
  return heat;
}

/** Spans by their duration, logarithmic. */
export function latencies(t: Float64Array, duration: Float64Array, range: Range, zero: number): Heat {
  const heat = empty(range, zero);
  const [first, last] = [lowerBound(t, heat.from), lowerBound(t, range.to)];
  let low = Infinity;
  let high = 0;
  for (let i = first; i < last; i++) {
    if (duration[i] <= 0) continue;
    low = Math.min(low, duration[i]);
    high = Math.max(high, duration[i]);
  }
  if (high === 0) return heat;
  // Whole decades, so that the rows mean the same after a step to another range.
  low = 10 ** Math.floor(Math.log10(low));
  high = 10 ** Math.ceil(Math.log10(high * 1.0001));
  heat.latency = { low, high };
  const decades = Math.log10(high / low);
  for (let i = first; i < last; i++) {
    if (duration[i] <= 0) continue;
    const column = Math.floor((t[i] - heat.from) / heat.columnNs);
    const row = Math.min(ROWS - 1, Math.floor((Math.log10(duration[i] / low) / decades) * ROWS));
    if (column < heat.columns) add(heat, column * ROWS + row);
  }
  return heat;
}

function add(heat: Heat, cell: number): void {
  const n = ++heat.cells[cell];
  heat.total++;
  if (n > heat.max) heat.max = n;
}

/** From the earlier of two cells to the end of the later one. */
export function between(heat: Heat, a: { column: number; row: number }, b: { column: number; row: number }): Range {
  if (heat.latency) {
    const [first, last] = [Math.min(a.column, b.column), Math.max(a.column, b.column)];
    return { from: heat.from + first * heat.columnNs, to: heat.from + (last + 1) * heat.columnNs };
  }
  const perRow = heat.columnNs / heat.rows;
  const cell = (c: { column: number; row: number }): number => c.column * heat.rows + c.row;
  const [first, last] = [Math.min(cell(a), cell(b)), Math.max(cell(a), cell(b))];
  return { from: heat.from + first * perRow, to: heat.from + (last + 1) * perRow };
}
