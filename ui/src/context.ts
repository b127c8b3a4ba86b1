// What the parts of the page share: the diagnosis, the lanes, the view, and what
// lies under the pointer.

import { laneOf } from "./cited";
import { lowerBound } from "./decimate";
import { duration, moment, momentDigits, wallClock } from "./format";
import type { Diagnosis, Mark, Window } from "./generated/diagnosis";
import { placeToHash, write } from "./link";
import type { Lanes, SpanLane } from "./model";
import { tidy } from "./samples/select";
import type { SampleTable } from "./samples/table";
import { State } from "./state";
import type { Range, View } from "./view";

/** More lines over the lanes could not be distinguished. */
const MOST_MARKS = 200;

/** Details of the place under the pointer or of the span stepped to. */
export interface Detail {
  title: string;
  facts: [string, string][];
  /** Node of the samples' stacks, 1-based. */
  stack?: number;
  range?: Range;
  /** The span itself. */
  ref?: { lane: SpanLane; index: number };
}

/**
 * A lane as the timeline asks it. Times are nanoseconds from the origin; `y` is pixels
 * from the plot's top.
 */
export interface LaneHandle {
  describe(t: number, y: number, perPixel: number): Detail | null;
  /** The span after (or before) a moment, for the keyboard; null for lines. */
  step(t: number, direction: 1 | -1): { t: number; detail: Detail } | null;
}

export class Page {
  readonly handles = new Map<string, LaneHandle>();
  readonly state = new State();
  /**
   * Samples of the windows named by the key in full, where `samples` are thinned
   * and a server has them.
   */
  exact: { key: string; table: SampleTable } | null = null;

  constructor(
    readonly diagnosis: Diagnosis,
    readonly lanes: Lanes,
    readonly samples: SampleTable,
    readonly view: View,
  ) {}

  /** What everything is about: what was brushed, else the verdict's windows, else the whole run. */
  windows(): Range[] {
    const chosen = this.state.now.windows ?? this.diagnosis.windows.slow.map((w) => this.toRange(w));
    return chosen.length > 0 ? tidy(chosen) : [{ ...this.view.opening }];
  }

  /** Names window and base. */
  rangesKey(): string {
    return JSON.stringify([this.windows(), this.base()]);
  }

  /** The samples of window and base, as full as they are had. */
  chosenSamples(): SampleTable {
    return this.exact?.key === this.rangesKey() ? this.exact.table : this.samples;
  }

  /** What it is compared with; empty when there is nothing. */
  base(): Range[] {
    return tidy(this.state.now.base ?? this.diagnosis.windows.base.map((w) => this.toRange(w)));
  }

  /** What people or their tools did, as many as a timeline can show. */
  marks(): Mark[] {
    return this.diagnosis.marks.slice(0, MOST_MARKS);
  }

  toRange(window: Window): Range {
    return { from: this.toLane(window.from_ns), to: this.toLane(window.to_ns) };
  }

  /** Ranges in words: "115 s – 125 s (10 s)". */
  inWords(ranges: Range[]): string {
    const length = ranges.reduce((sum, r) => sum + r.to - r.from, 0);
    const list = ranges
      .slice(0, 3)
      .map((r) => `${this.moment(r.from, r.to - r.from)} – ${this.moment(r.to, r.to - r.from)}`);
    if (ranges.length > 3) list.push(`${ranges.length - 3} more`);
    return `${list.join(", ")} (${duration(length)})`;
  }

  /** Whether a series counts completed operations. */
  get countsOperations(): boolean {
    return this.throughput() !== null;
  }

  /** Operations that the throughput's series counted in a range: mean rate times length. */
  operations(from: number, to: number): number {
    const line = this.throughput();
    if (!line) return 0;
    const [first, last] = [lowerBound(line.t, from), lowerBound(line.t, to)];
    let sum = 0;
    let n = 0;
    for (let i = first; i < last; i++) {
      if (Number.isNaN(line.v[i])) continue;
      sum += line.v[i];
      n++;
    }
    return n === 0 ? 0 : (sum / n) * ((to - from) / 1e9);
  }

  /** A throughput that clients measured, else the requests of an access log. */
  private throughput(): { t: Float64Array; v: Float64Array } | null {
    return this.rate("throughput") ?? this.rate("requests");
  }

  private rate(name: string): { t: Float64Array; v: Float64Array } | null {
    for (const group of this.lanes.groups) {
      for (const lane of group.lanes) {
        if (lane.type !== "lines" || !lane.id.startsWith(`series-all-${name}`)) continue;
        return lane.lines.find((l) => l.main) ?? lane.lines[0] ?? null;
      }
    }
    return null;
  }

  /** Lane time of a moment of the diagnosis. */
  toLane(ns: number): number {
    return ns - this.lanes.originNs;
  }

  /** Nanoseconds from the diagnosis' zero of a lane time. */
  fromZero(t: number): number {
    return t + this.lanes.originNs - this.diagnosis.zero_ns;
  }

  /** Lane time of seconds from zero, as links write them. */
  fromSeconds(s: number): number {
    return s * 1e9 + this.diagnosis.zero_ns - this.lanes.originNs;
  }

  moment(t: number, widthNs = this.view.width): string {
    return moment(this.fromZero(t), momentDigits(widthNs));
  }

  clock(t: number): string {
    return this.diagnosis.wall_clock ? wallClock(t + this.lanes.originNs) : "";
  }

  /**
   * A link that shows a moment with some time around it, in the lane that has a span of then: of
   * the source named, if any.
   */
  linkTo(atNs: number, source = ""): string {
    const at = (atNs - this.diagnosis.zero_ns) / 1e9;
    const around = this.around(atNs);
    return placeToHash({ from: at - around, to: at + around, at, lane: laneOf(this.lanes, this.toLane(atNs), source) });
  }

  /**
   * A link that shows a window with a fifth of its length on either side, and makes
   * everything be about it.
   */
  linkToWindow(window: Window): string {
    const from = (window.from_ns - this.diagnosis.zero_ns) / 1e9;
    const to = (window.to_ns - this.diagnosis.zero_ns) / 1e9;
    const margin = Math.max((to - from) * 0.2, 1e-4);
    return write({ view: { from: from - margin, to: to + margin }, at: null, choice: { windows: [{ from, to }] } });
  }

  /**
   * Seconds to show on either side of a moment: half the window that it lies in, else a
   * fortieth of the whole.
   */
  private around(atNs: number): number {
    const { slow, base } = this.diagnosis.windows;
    const window = [...slow, ...base].find((w) => w.from_ns <= atNs && atNs < w.to_ns);
    const whole = (this.view.opening.to - this.view.opening.from) / 1e9;
    const wanted = window ? (window.to_ns - window.from_ns) / 2e9 : whole / 40;
    return Math.max(Math.min(wanted, whole / 20), 1e-4);
  }
}
