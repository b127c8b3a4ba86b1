// What threads did over time, as samples saw it: a row for each thread, cut into layers.

import { FRAME_TYPES } from "../flame/data";
import type { SampleKind, SampleTable } from "./table";

/**
 * Layers from bottom to top; the colours are those of the flame graph, stronger, as no
 * text stands on them.
 */
export const LAYERS = ["interpreted", "C1", "C2", "JVM", "native", "kernel", "unknown"] as const;
export const LAYER_INKS = ["l-interpreted", "l-c1", "l-c2", "l-jvm", "l-native", "l-kernel", "l-unknown"];
const OF_TYPE: Record<string, number> = {
  interpreted: 0,
  C1: 1,
  C2: 2,
  inlined: 2,
  stub: 3,
  JVM: 3,
  native: 4,
  kernel: 5,
};
const UNKNOWN = LAYERS.length - 1;

/** Rows of a lane; the last takes all other threads. */
const MOST_ROWS = 16;
/** Intervals in which samples are counted once, for views of much of the run. */
const BINS = 4096;

export interface SampleRow {
  name: string;
  /** How many threads are on it. */
  threads: number;
}

export interface SampleLane {
  type: "samples";
  id: string;
  title: string;
  unit: string;
  open: boolean;
  note: string;
  kind: SampleKind;
  rows: SampleRow[];
  /** Samples row by row, in order of time; row r has `order[first[r] .. first[r + 1]]`. */
  order: Int32Array;
  first: Int32Array;
  /** Layer of each sample. */
  layer: Uint8Array;
  from: number;
  binNs: number;
  /** Weights: `bins[(row * BINS + bin) * LAYERS.length + layer]`. */
  bins: Float32Array;
}

export function sampleLane(table: SampleTable, kind: SampleKind, from: number, to: number, open = true): SampleLane {
  const { rows, rowOf } = rowsOf(table, kind);
  const n = kind.t.length;
  const layerOf = FRAME_TYPES.map((type) => OF_TYPE[type] ?? UNKNOWN);
  const layer = new Uint8Array(n);
  const first = new Int32Array(rows.length + 1);
  const { t, node, thread, weight } = kind;
  const { type } = table.stacks;
  for (let i = 0; i < n; i++) {
    layer[i] = node[i] === 0 ? UNKNOWN : layerOf[type[node[i] - 1]];
    first[rowOf[thread[i]] + 1]++;
  }
  for (let r = 0; r < rows.length; r++) first[r + 1] += first[r];
  const at = first.slice();
  const order = new Int32Array(n);
  const binNs = Math.max(1, (to - from) / BINS);
  const bins = new Float32Array(rows.length * BINS * LAYERS.length);
  // Samples stand in order of time: the bin only moves on.
  let bin = 0;
  let end = from + binNs;
  for (let i = 0; i < n; i++) {
    const row = rowOf[thread[i]];
    order[at[row]++] = i;
    while (t[i] >= end && bin < BINS - 1) end = from + (++bin + 1) * binNs;
    bins[(row * BINS + bin) * LAYERS.length + layer[i]] += weight[i];
  }
  return {
    type: "samples",
    id: `samples-${kind.kind}`,
    title: `${kind.kind} samples`,
    unit: kind.unit,
    open,
    note: kind.note,
    kind,
    rows,
    order,
    first,
    layer,
    from,
    binNs,
    bins,
  };
}

/** The threads with most weight have rows of their own, in the order of their names. */
function rowsOf(table: SampleTable, kind: SampleKind): { rows: SampleRow[]; rowOf: Int32Array } {
  const weights = new Float64Array(table.threads.length + 1);
  for (let i = 0; i < kind.t.length; i++) weights[kind.thread[i]] += kind.weight[i];
  const used = Array.from(weights.keys())
    .filter((thread) => weights[thread] > 0)
    .sort((a, b) => weights[b] - weights[a]);
  const own = used.length > MOST_ROWS ? used.slice(0, MOST_ROWS - 1) : used;
  const processes = new Set(used.map((thread) => table.threads[thread - 1]?.process ?? ""));
  const nameOf = (thread: number): string => {
    const known = table.threads[thread - 1];
    if (!known) return "no thread known";
    return processes.size > 1 ? `${known.name} ${known.process}` : known.name;
  };
  own.sort((a, b) => nameOf(a).localeCompare(nameOf(b), "en", { numeric: true }));
  const rowOf = new Int32Array(weights.length).fill(Math.min(own.length, MOST_ROWS - 1));
  own.forEach((thread, row) => (rowOf[thread] = row));
  const rows = own.map((thread): SampleRow => ({ name: nameOf(thread), threads: 1 }));
  const others = used.length - own.length;
  if (others > 0 || rows.length === 0) rows.push({ name: `${others} other threads`, threads: Math.max(1, others) });
  return { rows, rowOf };
}

/**
 * Weights of a view by row, column and layer: `[(row * columns + column) * LAYERS.length + layer]`.
 */
export function layersOf(lane: SampleLane, from: number, to: number, columns: number): Float32Array {
  const out = new Float32Array(lane.rows.length * columns * LAYERS.length);
  const perColumn = (to - from) / columns;
  const L = LAYERS.length;
  if (perColumn >= lane.binNs) {
    const firstBin = Math.max(0, Math.floor((from - lane.from) / lane.binNs));
    const lastBin = Math.min(BINS, Math.ceil((to - lane.from) / lane.binNs));
    const columnOf = Int32Array.from({ length: Math.max(0, lastBin - firstBin) }, (_, k) =>
      Math.floor((lane.from + (firstBin + k + 0.5) * lane.binNs - from) / perColumn),
    );
    const { bins } = lane;
    for (let row = 0; row < lane.rows.length; row++) {
      for (let bin = firstBin; bin < lastBin; bin++) {
        const column = columnOf[bin - firstBin];
        if (column < 0 || column >= columns) continue;
        const source = (row * BINS + bin) * L;
        const target = (row * columns + column) * L;
        for (let l = 0; l < L; l++) out[target + l] += bins[source + l];
      }
    }
    return out;
  }
  for (let row = 0; row < lane.rows.length; row++) {
    for (let k = search(lane, row, from); k < lane.first[row + 1]; k++) {
      const i = lane.order[k];
      if (lane.kind.t[i] >= to) break;
      const column = Math.min(columns - 1, Math.floor((lane.kind.t[i] - from) / perColumn));
      out[(row * columns + column) * L + lane.layer[i]] += lane.kind.weight[i];
    }
  }
  return out;
}

/** Place in `order` of the row's first sample that is not before `t`. */
function search(lane: SampleLane, row: number, t: number): number {
  let low = lane.first[row];
  let high = lane.first[row + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.kind.t[lane.order[middle]] < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Weight by layer of one row in a range. */
export function layersIn(lane: SampleLane, row: number, from: number, to: number): Float64Array {
  const out = new Float64Array(LAYERS.length);
  for (let k = search(lane, row, from); k < lane.first[row + 1]; k++) {
    const i = lane.order[k];
    if (lane.kind.t[i] >= to) break;
    out[lane.layer[i]] += lane.kind.weight[i];
  }
  return out;
}
