// Spans of the window by something that they have in common: cause, file, peer, method, thread.

import type { Counted, SpanLane } from "./model";
import type { SpanIndex } from "./spans";
import type { Range } from "./view";

/** By what the spans of a lane can be put together. */
export interface Grouping {
  /** "name", "class", "thread", or "label:" with its name. */
  id: string;
  title: string;
}

export interface GroupRow {
  key: string;
  count: number;
  /** Time within the window. */
  totalNs: number;
  meanNs: number;
  medianNs: number;
  p99Ns: number;
  maxNs: number;
  /** Per second of the window and of the baseline; null without a base. */
  baseCount: number | null;
  /** Time in the baseline, scaled to the length of the window. */
  baseTotalNs: number | null;
  /** Where the longest one begins. */
  longestAt: number;
}

export function groupings(lane: SpanLane): Grouping[] {
  return [
    { id: "name", title: "name" },
    ...(lane.classes.length > 1 ? [{ id: "class", title: "kind" }] : []),
    ...lane.labels.map((l) => ({ id: `label:${l.name}`, title: l.name })),
    ...(lane.thread ? [{ id: "thread", title: "thread" }] : []),
  ];
}

/** The key of a span under a grouping. */
export function keyOf(
  lane: SpanLane,
  by: string,
  strings: string[],
  threads: { name: string }[],
): (i: number) => string {
  if (by === "class") return (i) => lane.classes[lane.cls[i]] ?? "";
  if (by === "thread") return (i) => threads[(lane.thread?.[i] ?? 0) - 1]?.name ?? "no thread known";
  const label = lane.labels.find((l) => `label:${l.name}` === by);
  if (label) return (i) => (label.values[i] > 0 ? (strings[label.values[i] - 1] ?? "") : `no ${label.name}`);
  return (i) => strings[lane.name[i]] || lane.classes[lane.cls[i]] || lane.title;
}

interface Sum {
  durations: number[];
  total: number;
  longest: number;
  longestAt: number;
}

function sums(index: SpanIndex, ranges: Range[], key: (i: number) => string): Map<string, Sum> {
  const { t0, duration } = index.lane;
  const out = new Map<string, Sum>();
  for (const range of ranges) {
    const [first, last] = index.candidates(range.from, range.to);
    for (let i = first; i < last; i++) {
      const end = t0[i] + duration[i];
      // A span that reaches over two windows is counted where it begins, its time in both.
      const overlap = Math.min(end, range.to) - Math.max(t0[i], range.from);
      if (overlap < 0) continue;
      const name = key(i);
      let sum = out.get(name);
      if (!sum) out.set(name, (sum = { durations: [], total: 0, longest: -1, longestAt: 0 }));
      sum.total += Math.max(0, overlap);
      if (t0[i] < range.from && range !== ranges[0]) continue;
      sum.durations.push(duration[i]);
      if (duration[i] > sum.longest) {
        sum.longest = duration[i];
        sum.longestAt = t0[i];
      }
    }
  }
  return out;
}

export interface CountRow {
  key: string;
  count: number;
  timeNs: number;
  /** Scaled to the length of the window; null without a base. */
  baseCount: number | null;
  baseTimeNs: number | null;
}

/**
 * Counts of a window by name or thread; an interval that lies in it in part counts for that part.
 */
export function countRows(table: Counted, windows: Range[], base: Range[], key: (i: number) => string): CountRow[] {
  const rows = new Map<string, CountRow>();
  const add = (ranges: Range[], into: (row: CountRow, count: number, time: number) => void): void => {
    for (let i = 0; i < table.t0.length; i++) {
      const [from, to] = [table.t0[i], table.t0[i] + table.duration[i]];
      const within = ranges.reduce((sum, r) => sum + Math.max(0, Math.min(to, r.to) - Math.max(from, r.from)), 0);
      if (within <= 0) continue;
      const share = within / table.duration[i];
      const name = key(i);
      let row = rows.get(name);
      if (!row)
        rows.set(
          name,
          (row = {
            key: name,
            count: 0,
            timeNs: 0,
            baseCount: base.length > 0 ? 0 : null,
            baseTimeNs: base.length > 0 ? 0 : null,
          }),
        );
      into(row, table.count[i] * share, table.time[i] * share);
    }
  };
  add(windows, (row, count, time) => {
    row.count += count;
    row.timeNs += time;
  });
  const scale = base.length > 0 ? length(windows) / length(base) : 0;
  add(base, (row, count, time) => {
    row.baseCount = (row.baseCount ?? 0) + count * scale;
    row.baseTimeNs = (row.baseTimeNs ?? 0) + time * scale;
  });
  return [...rows.values()];
}

const length = (ranges: Range[]): number => ranges.reduce((sum, r) => sum + r.to - r.from, 0);

export function groupRows(index: SpanIndex, windows: Range[], base: Range[], key: (i: number) => string): GroupRow[] {
  const here = sums(index, windows, key);
  const there = base.length > 0 ? sums(index, base, key) : null;
  const scale = base.length > 0 ? length(windows) / length(base) : 0;
  const names = new Set([...here.keys(), ...(there?.keys() ?? [])]);
  return [...names].map((name): GroupRow => {
    const sum = here.get(name);
    const sorted = Float64Array.from(sum?.durations ?? []).sort();
    const at = (share: number): number =>
      sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? NaN;
    const other = there?.get(name);
    return {
      key: name,
      count: sorted.length,
      totalNs: sum?.total ?? 0,
      meanNs: sorted.length > 0 ? sorted.reduce((a, b) => a + b, 0) / sorted.length : NaN,
      medianNs: at(0.5),
      p99Ns: at(0.99),
      maxNs: at(1),
      baseCount: there ? (other?.durations.length ?? 0) * scale : null,
      baseTotalNs: there ? (other?.total ?? 0) * scale : null,
      longestAt: sum?.longestAt ?? other?.longestAt ?? 0,
    };
  });
}
