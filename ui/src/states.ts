// What each thread did over time, on a CPU by layer and waiting by cause: the
// ledger's slices as a lane.

import { isQuiet } from "./categories";
import type { LedgerGrouping, LedgerOverTime } from "./model";
import { poolOf } from "./pools";

export interface StateLane {
  type: "states";
  id: string;
  title: string;
  note: string;
  categories: string[];
  rows: { name: string; threads: number }[];
  /** Slices of the run, one more edge than slices. */
  edges: Float64Array;
  sliceNs: number;
  /** Nanoseconds: `spent[(row * slices + slice) * categories + category]`. */
  spent: Float64Array;
}

/** Rows of the lane. */
const MOST_ROWS = 16;

/** Null when nothing says what single threads did. */
export function stateLane(over: LedgerOverTime | null): StateLane | null {
  const grouping = over?.groupings.find((g) => g.by === "thread");
  if (!over || !grouping || grouping.groups.length === 0) return null;
  const [H, G, slices] = [over.categories.length, grouping.groups.length, over.edges.length - 1];
  const several = new Set(grouping.groups.map((g) => g.process).filter((p) => p !== "")).size > 1;
  const nameOf = (g: number): string =>
    several ? `${grouping.groups[g].name} ${grouping.groups[g].process}` : grouping.groups[g].name;
  const shown = rowsOf(grouping, nameOf);
  const spent = new Float64Array(shown.length * slices * H);
  shown.forEach((g, row) => {
    for (let s = 0; s < slices; s++) {
      for (let h = 0; h < H; h++) spent[(row * slices + s) * H + h] = grouping.spent[(s * G + g) * H + h] * 1000;
    }
  });
  return {
    type: "states",
    id: "states",
    title: "What threads did",
    note:
      grouping.groups.length > shown.length
        ? `${shown.length} threads: those whose time changed most in the slow windows, then the busiest`
        : "",
    categories: over.categories,
    rows: shown.map((g) => ({ name: nameOf(g), threads: 1 })),
    edges: over.edges,
    sliceNs: usualSlice(over.edges),
    spent,
  };
}

/** How long most slices are: of time that was not recorded there are long ones next to them. */
export function usualSlice(edges: Float64Array): number {
  const lengths = Float64Array.from(edges.subarray(1), (to, i) => to - edges[i]).sort();
  return lengths[lengths.length >> 1] ?? 0;
}

/**
 * The groups that have rows: those that worked or waited in the slow windows before idle ones; pool
 * by pool in the order of the pools' first threads, each pool in the order of names.
 */
function rowsOf(grouping: LedgerGrouping, nameOf: (group: number) => string): number[] {
  const { groups } = grouping;
  // "all others" would be many threads on one row.
  const single = groups.map((_, g) => g).filter((g) => groups[g].process !== "" || groups[g].name !== "all others");
  const rows = single.slice(0, MOST_ROWS);
  const poolAt = new Map<string, number>();
  const poolOfGroup = (g: number): string => `${poolOf(groups[g].name)} ${groups[g].process}`;
  for (const g of rows) if (!poolAt.has(poolOfGroup(g))) poolAt.set(poolOfGroup(g), g);
  const place = (g: number): number => (g < grouping.active ? 0 : groups.length) + (poolAt.get(poolOfGroup(g)) ?? g);
  rows.sort((a, b) => place(a) - place(b) || nameOf(a).localeCompare(nameOf(b), "en", { numeric: true }));
  return rows;
}

/** Categories that any row spent time on, those of work and waiting first. */
export function usedCategories(lane: StateLane): number[] {
  const H = lane.categories.length;
  const used = new Set<number>();
  for (let i = 0; i < lane.spent.length; i++) if (lane.spent[i] > 0) used.add(i % H);
  return [...used].sort((a, b) => Number(isQuiet(lane.categories[a])) - Number(isQuiet(lane.categories[b])) || a - b);
}

/**
 * What fills each of `full` steps of height in every slice of every row, from the ground up: the
 * place of a category in `order`, 255 for nothing. Made once, because a slice is wider than a pixel
 * on any screen and drawing need only repeat it.
 */
export function levels(lane: StateLane, order: number[], full: number): Uint8Array {
  const H = lane.categories.length;
  const slices = lane.edges.length - 1;
  const out = new Uint8Array(lane.rows.length * slices * full).fill(255);
  for (let row = 0; row < lane.rows.length; row++) {
    for (let s = 0; s < slices; s++) {
      const length = (lane.edges[s + 1] - lane.edges[s]) * lane.rows[row].threads;
      const at = (row * slices + s) * full;
      let sum = 0;
      let y = 0;
      for (let p = 0; p < order.length && length > 0; p++) {
        const spent = lane.spent[(row * slices + s) * H + order[p]];
        if (spent === 0) continue;
        sum += spent;
        const top = Math.min(full, Math.round((sum / length) * full));
        for (; y < top; y++) out[at + y] = p;
      }
    }
  }
  return out;
}

/** Time by category of one row in a range. */
export function statesIn(lane: StateLane, row: number, from: number, to: number): Float64Array {
  const H = lane.categories.length;
  const slices = lane.edges.length - 1;
  const out = new Float64Array(H);
  for (let s = 0; s < slices; s++) {
    const [a, b] = [lane.edges[s], lane.edges[s + 1]];
    const within = Math.min(b, to) - Math.max(a, from);
    if (within <= 0 || b <= a) continue;
    for (let h = 0; h < H; h++) out[h] += lane.spent[(row * slices + s) * H + h] * (within / (b - a));
  }
  return out;
}
