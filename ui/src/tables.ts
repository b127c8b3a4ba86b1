// Spans of the window by something that they have in common: cause, file, peer, method, thread.

import { SpanIndex } from "./spans";
import type { SpanLane } from "./model";
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
  /** Per second of the window and of the base; null without a base. */
  baseCount: number | null;
  /** Time in the base, scaled to the length of the window. */
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
export function keyOf(lane: SpanLane, by: string, strings: string[], threads: { name: string }[]): (i: number) => string {
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

const length = (ranges: Range[]): number => ranges.reduce((sum, r) => sum + r.to - r.from, 0);

export function groupRows(index: SpanIndex, windows: Range[], base: Range[], key: (i: number) => string): GroupRow[] {
  const here = sums(index, windows, key);
  const there = base.length > 0 ? sums(index, base, key) : null;
  const scale = base.length > 0 ? length(windows) / length(base) : 0;
  const names = new Set([...here.keys(), ...(there?.keys() ?? [])]);
  return [...names].map((name): GroupRow => {
    const sum = here.get(name);
    const sorted = Float64Array.from(sum?.durations ?? []).sort();
    const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(share * sorted.length) - 1))] ?? NaN;
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
