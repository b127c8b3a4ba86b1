// Which spans of a lane lie in a view, which lie under the pointer, and what to draw of them.

import { lowerBound } from "./decimate";
import type { SpanLane } from "./model";

/** What is asked of a lane again and again, computed once. */
export class SpanIndex {
  /**
   * The latest end among all spans up to and including each: not falling, so it can be searched.
   */
  private readonly latestEnd: Float64Array;
  /** The longest duration on the lane. */
  readonly longestNs: number;

  private static readonly known = new WeakMap<SpanLane, SpanIndex>();

  /** The index of a lane, made once: plot, table and label of a lane ask it. */
  static of(lane: SpanLane): SpanIndex {
    let index = SpanIndex.known.get(lane);
    if (!index) SpanIndex.known.set(lane, (index = new SpanIndex(lane)));
    return index;
  }

  constructor(readonly lane: SpanLane) {
    this.latestEnd = new Float64Array(lane.t0.length);
    let latest = -Infinity;
    let longest = 0;
    for (let i = 0; i < lane.t0.length; i++) {
      latest = Math.max(latest, lane.t0[i] + lane.duration[i]);
      this.latestEnd[i] = latest;
      longest = Math.max(longest, lane.duration[i]);
    }
    this.longestNs = longest;
  }

  /** Whether the height of a span shows its duration: on lanes of one row whose spans last. */
  get tall(): boolean {
    return this.lane.rows.length <= 1 && this.longestNs > 0;
  }

  /**
   * Share of the row that a duration fills. The square root lets short ones be
   * seen next to the longest.
   */
  heightOf(durationNs: number): number {
    return Math.max(0.1, Math.sqrt(durationNs / this.longestNs));
  }

  /** Indices `[first, last)` outside of which no span touches the range. */
  candidates(from: number, to: number): [number, number] {
    return [lowerBound(this.latestEnd, from), lowerBound(this.lane.t0, to)];
  }

  /** The longest span of a row that touches the range, and how many others do. */
  hit(from: number, to: number, row: number): { index: number; others: number } | null {
    const { t0, duration, row: rows } = this.lane;
    const [first, last] = this.candidates(from, to);
    let found = -1;
    let count = 0;
    for (let i = first; i < last; i++) {
      if (rows[i] !== row || t0[i] + duration[i] < from) continue;
      count++;
      if (found < 0 || duration[i] > duration[found]) found = i;
    }
    return found < 0 ? null : { index: found, others: count - 1 };
  }

  /**
   * Spans that touch the range, the longest `limit` of them, in order of time,
   * and how many there are.
   */
  longest(from: number, to: number, limit: number): { indices: number[]; total: number } {
    const { t0, duration } = this.lane;
    const [first, last] = this.candidates(from, to);
    const all: number[] = [];
    for (let i = first; i < last; i++) if (t0[i] + duration[i] >= from) all.push(i);
    const total = all.length;
    if (total > limit) {
      all.sort((a, b) => duration[b] - duration[a]);
      all.length = limit;
      all.sort((a, b) => a - b);
    }
    return { indices: all, total };
  }
}

/**
 * A rectangle to fill: `[x, x + width)` in pixels, its row, its class, its part, the
 * longest duration behind it.
 */
export type Fill = (x: number, width: number, row: number, cls: number, part: number, longestNs: number) => void;

/**
 * Calls `fill` for what is visible: spans side by side in one pixel column become one, so that the
 * number of rectangles is bounded by the width of the canvas and not by the number of spans.
 *
 * `part` is the part of a span (-1 when it is not cut into parts; the number of
 * parts for the rest).
 */
export function layout(index: SpanIndex, from: number, to: number, pixels: number, fill: Fill): void {
  const { lane } = index;
  const { t0, duration, cls, row } = lane;
  const perPixel = pixels / (to - from);
  const [first, last] = index.candidates(from, to);
  const slots = Math.max(1, lane.rows.length) * Math.max(1, lane.classes.length);
  // Where the pending rectangle of each row and class begins and ends.
  const begin = new Float64Array(slots).fill(-1);
  const end = new Float64Array(slots);
  const longest = new Float64Array(slots);
  // Where height shows the duration, neighbouring pixels stay apart.
  const touch = index.tall ? 1 : 0;
  const flush = (slot: number): void => {
    if (begin[slot] < 0) return;
    const classes = Math.max(1, lane.classes.length);
    fill(begin[slot], end[slot] - begin[slot], Math.floor(slot / classes), slot % classes, -1, longest[slot]);
    begin[slot] = -1;
  };
  for (let i = first; i < last; i++) {
    const stop = t0[i] + duration[i];
    if (stop < from) continue;
    const left = Math.max(0, Math.floor((t0[i] - from) * perPixel));
    // At least a pixel, so that nothing that happened is invisible.
    const right = Math.min(pixels, Math.max(left + 1, Math.ceil((stop - from) * perPixel)));
    const slot = row[i] * Math.max(1, lane.classes.length) + cls[i];
    // Wide enough to show its parts.
    if (lane.parts.length > 0 && right - left >= 4) {
      flush(slot);
      fillParts(lane, i, from, perPixel, pixels, fill);
      continue;
    }
    if (begin[slot] >= 0 && left <= end[slot] - touch) {
      end[slot] = Math.max(end[slot], right);
      longest[slot] = Math.max(longest[slot], duration[i]);
      continue;
    }
    flush(slot);
    begin[slot] = left;
    end[slot] = right;
    longest[slot] = duration[i];
  }
  for (let slot = 0; slot < slots; slot++) flush(slot);
}

function fillParts(lane: SpanLane, i: number, from: number, perPixel: number, pixels: number, fill: Fill): void {
  let at = lane.t0[i];
  const stop = at + lane.duration[i];
  const rectangle = (start: number, finish: number, part: number): void => {
    const left = Math.max(0, (start - from) * perPixel);
    const right = Math.min(pixels, (finish - from) * perPixel);
    if (right > left) fill(left, Math.max(right - left, 0.5), lane.row[i], lane.cls[i], part, lane.duration[i]);
  };
  lane.parts.forEach((part, k) => {
    const length = part.values[i];
    if (!(length > 0)) return;
    const finish = Math.min(stop, at + length);
    rectangle(at, finish, k);
    at = finish;
  });
  rectangle(at, stop, lane.parts.length);
}
