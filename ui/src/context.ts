// What the parts of the page share: the diagnosis, the lanes, the view, and what lies under the pointer.

import type { Diagnosis, Lanes, Window } from "./model";
import { moment, momentDigits, wallClock } from "./format";
import { placeToHash, type View } from "./view";

/** What is told of the place under the pointer or of the span stepped to. */
export interface Detail {
  title: string;
  facts: [string, string][];
}

/** A lane as the timeline asks it. Times are nanoseconds from the origin; `y` is pixels from the plot's top. */
export interface LaneHandle {
  describe(t: number, y: number, perPixel: number): Detail | null;
  /** The span after (or before) a moment, for the keyboard; null for lines. */
  step(t: number, direction: 1 | -1): { t: number; detail: Detail } | null;
}

export class Page {
  readonly handles = new Map<string, LaneHandle>();

  constructor(
    readonly diagnosis: Diagnosis,
    readonly lanes: Lanes,
    readonly view: View,
  ) {}

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

  /** A link that shows a moment with some time around it. */
  linkTo(atNs: number): string {
    const at = (atNs - this.diagnosis.zero_ns) / 1e9;
    const around = this.around(atNs);
    return placeToHash({ from: at - around, to: at + around, at });
  }

  /** A link that shows a window with a fifth of its length on either side. */
  linkToWindow(window: Window): string {
    const from = (window.from_ns - this.diagnosis.zero_ns) / 1e9;
    const to = (window.to_ns - this.diagnosis.zero_ns) / 1e9;
    const margin = Math.max((to - from) * 0.2, 1e-4);
    return placeToHash({ from: from - margin, to: to + margin, at: null });
  }

  /** Seconds to show on either side of a moment: half the window that it lies in, else a fortieth of the whole. */
  private around(atNs: number): number {
    const { slow, base } = this.diagnosis.windows;
    const window = [...slow, ...base].find((w) => w.from_ns <= atNs && atNs < w.to_ns);
    const whole = (this.view.home.to - this.view.home.from) / 1e9;
    const wanted = window ? (window.to_ns - window.from_ns) / 2e9 : whole / 40;
    return Math.max(Math.min(wanted, whole / 20), 1e-4);
  }
}
