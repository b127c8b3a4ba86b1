// The lanes of the timeline as the page draws them: what ../generated/lanes.ts says of them, with
// numbers in place of columns. Times count from `originNs`.

import type * as written from "./generated/lanes";
import type { SampleLane } from "./samples/lane";
import type { StateLane } from "./states";
import type { Range } from "./view";

/** With the numbers of a column in place of its number, where there is a column. */
export type Decoded<T, Columns extends keyof T> = Omit<T, Columns> & {
  [C in Columns]: T[C] extends number ? Float64Array : Float64Array | null;
};

/** One line of a line lane. A value that is not a number is a gap. */
export type Line = Decoded<written.Line, "t" | "v">;

export interface LineLane extends Omit<written.LineLane, "lines"> {
  type: "lines";
  lines: Line[];
}

/**
 * A value or a string that a span carries, for the details. Strings are indices into the lanes'
 * strings, 1-based; 0 is none.
 */
export type Fact = Decoded<written.Named, "values">;

type SpanColumns = "t0" | "duration" | "cls" | "row" | "name" | "source" | "line" | "stack" | "thread";

/** Spans in order of their start, column by column. */
export interface SpanLane extends Omit<Decoded<written.SpanLane, SpanColumns>, "parts" | "facts" | "labels"> {
  type: "spans";
  parts: Fact[];
  facts: Fact[];
  labels: Fact[];
}

export type Lane = LineLane | SpanLane | SampleLane | StateLane;

export interface Group extends Omit<written.Group, "lanes"> {
  lanes: Lane[];
}

/**
 * How often something happened in intervals of time, and how long all of it took; in
 * order of their start.
 */
export type Counted = Decoded<written.Counted, "t0" | "duration" | "name" | "thread" | "count" | "time">;

export type LedgerGrouping = Decoded<written.Grouping, "spent">;

export interface LedgerOverTime extends Omit<Decoded<written.OverTime, "edges">, "groupings"> {
  groupings: LedgerGrouping[];
}

export interface Lanes extends Pick<written.Header, "from" | "to" | "strings" | "sources"> {
  originNs: number;
  /** When somebody looked. */
  recorded: Range;
  groups: Group[];
  counted: Counted[];
  /** What groups of threads spent each slice of the run on; null when no source shows it. */
  ledger: LedgerOverTime | null;
}
