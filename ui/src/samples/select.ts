// Which samples a question is about: periods and threads.

import { lowerBound } from "../decimate";
import type { Range } from "../view";
import type { SampleKind } from "./table";

/** Samples of one side of a comparison, in order of time. */
export interface Chosen {
  /** Their places in the columns of the kind. */
  rows: Int32Array;
  ranges: Range[];
  /** Length of all ranges, nanoseconds. */
  coveredNs: number;
}

/** Ranges in order, without overlap. */
export function tidy(ranges: Range[]): Range[] {
  const sorted = ranges.filter((r) => r.to > r.from).sort((a, b) => a.from - b.from);
  const out: Range[] = [];
  for (const range of sorted) {
    const last = out[out.length - 1];
    if (last && range.from <= last.to) last.to = Math.max(last.to, range.to);
    else out.push({ ...range });
  }
  return out;
}

/** Whether a thread counts, by its number in the samples (0: none known); null is all of them. */
export type ThreadFilter = Uint8Array | null;

export function choose(kind: SampleKind, wanted: Range[], threads: ThreadFilter): Chosen {
  const ranges = tidy(wanted);
  const spans = ranges.map((r) => [lowerBound(kind.t, r.from), lowerBound(kind.t, r.to)] as const);
  const most = spans.reduce((sum, [from, to]) => sum + to - from, 0);
  const rows = new Int32Array(most);
  let n = 0;
  for (const [from, to] of spans) {
    if (threads === null) for (let i = from; i < to; i++) rows[n++] = i;
    else for (let i = from; i < to; i++) if (threads[kind.thread[i]] === 1) rows[n++] = i;
  }
  return { rows: rows.subarray(0, n), ranges, coveredNs: ranges.reduce((sum, r) => sum + r.to - r.from, 0) };
}
