// What the page shows: the diagnosis as `fathom diagnose --json` writes it, and the lanes of the timeline.
// Times of the diagnosis are nanoseconds on the recording's clock; times of lanes count from `originNs`.

import type { SampleLane } from "./samples/lane";
import type { StateLane } from "./states";

export interface Window {
  from_ns: number;
  to_ns: number;
}

export interface Evidence {
  /** What was measured, by its id in docs/evidence.md; absent in pages of a version before it. */
  metric?: string | null;
  value?: number | string | null;
  unit?: string | null;
  baseline?: number | string | null;
  text: string;
  source: string;
  at_ns: number | null;
}

export interface Remedy {
  change: string;
  applies_to: string;
  risk: string;
}

export interface Finding {
  rule: string;
  title: string;
  layer: string;
  confidence: "proven" | "likely" | "consistent-with";
  why_confidence: string;
  cost_ms: number | null;
  share: number | null;
  culprit: string;
  process: string;
  meaning: string;
  evidence: Evidence[];
  remedies: Remedy[];
  verify: string[];
  windows: Window[];
  /** Of a finding about waits; absent in pages of a version before it. */
  chain?: Chain | null;
  /** Of a finding about stops: the longest of them. */
  stop?: Stop | null;
}

/** What a thread waited for, and what that waited for, to the end. */
export interface Chain extends Window {
  thread: string;
  tid: number | null;
  process: string;
  ms: number;
  /** The longest first; their times add up to `ms`. */
  links: ChainLink[];
}

export interface ChainLink extends Window {
  /** Null for a device, or where nobody knows. */
  thread: string | null;
  what: string;
  ms: number;
  share: number;
  times: number;
  /** Innermost frame first. */
  stack: string[];
  source: string;
  end: string | null;
  next: ChainLink[];
}

/** A stop of a JVM, cut into parts. */
export interface Stop extends Window {
  process: string;
  operation: string;
  ms: number;
  asked_by: string | null;
  last_in: string | null;
  last_in_how: string | null;
  last_in_stack: string[];
  parts: { part: string; words: string; from_ns: number; to_ns: number; ms: number; links: ChainLink[] }[];
  source: string;
}

export interface LedgerRow {
  process: string;
  category: string;
  in_sum: boolean;
  slow_ms: number | null;
  base_ms: number | null;
  slow_share: number | null;
  base_share: number | null;
}

export interface Input {
  name: string;
  format: string;
  process: string | null;
  records: number;
  skipped: number;
  lost: number;
  placed: string;
}

/** Something that people or their tools did: a deploy, a migration. */
export interface Mark {
  at_ns: number;
  text: string;
  precision_ns: number;
  source: string;
  /** The slow window that begins with it: a fact, and not a cause. */
  began: { from_ns: number; before_ms: number; within_ms: number } | null;
}

export interface Diagnosis {
  schema: string;
  version: string;
  headline: string;
  inputs: Input[];
  wall_clock: boolean;
  zero_ns: number;
  windows: { slow: Window[]; base: Window[]; how: string };
  /** What people or their tools did; absent in pages of a version before it. */
  marks?: Mark[];
  loss: {
    lost_ms: number | null;
    slow_rate: number | null;
    base_rate: number | null;
    unit: string;
    measured_on: string;
  };
  /** The loss charged to findings (by their place) and to what is left: adds up to it. */
  account: { to: string; finding: number | null; ms: number; share: number }[];
  ledger: LedgerRow[];
  findings: Finding[];
  ruled_out: { rule: string; figure: string; source: string }[];
  blind_spots: { what: string; rules: string[]; remedy: string }[];
  warnings: string[];
}

/** One line of a line lane. A value that is not a number is a gap. */
export interface Line {
  name: string;
  /** Drawn above the others and thicker. */
  main: boolean;
  t: Float64Array;
  v: Float64Array;
}

export interface LineLane {
  type: "lines";
  id: string;
  title: string;
  unit: string;
  /** Whether a value holds until the next one (counts per second) or is joined to it by a line. */
  steps: boolean;
  /** Whether it is open before anybody folds or unfolds it. */
  open: boolean;
  lines: Line[];
  /** What was left out, in words; empty when nothing was. */
  note: string;
}

/** A figure or a text that a span carries, for the details. */
export interface Fact {
  name: string;
  unit: string;
  values: Float64Array;
}

/** Spans in order of their start, column by column. */
export interface SpanLane {
  type: "spans";
  id: string;
  title: string;
  /** What `cls` counts: "young", "full" … */
  classes: string[];
  /** Names of the rows that spans lie on (threads); one when they cannot overlap. */
  rows: string[];
  t0: Float64Array;
  duration: Float64Array;
  cls: Float64Array;
  row: Float64Array;
  name: Float64Array;
  /** Successive parts of a span, nanoseconds each; what remains of the duration has no name. */
  parts: Fact[];
  facts: Fact[];
  /** Texts by their index in the lanes' strings, one too high; 0 is none. */
  labels: Fact[];
  source: Float64Array;
  line: Float64Array;
  /** Nodes of the samples' stacks, one too high; null when no span has one. */
  stack: Float64Array | null;
  /** Threads of the samples, one too high; null when no span has one. */
  thread: Float64Array | null;
  note: string;
}

export type Lane = LineLane | SpanLane | SampleLane | StateLane;

export interface Group {
  name: string;
  detail: string;
  /** Whether it is open before anybody folds or unfolds it. */
  open: boolean;
  lanes: Lane[];
}

export interface Lanes {
  originNs: number;
  /** Whole range, nanoseconds from the origin. */
  from: number;
  to: number;
  /** When somebody looked; null in pages of a version before it. */
  recorded: { from: number; to: number } | null;
  strings: string[];
  sources: string[];
  groups: Group[];
  counted: Counted[];
  /** What groups of threads spent each slice of the run on; null when no source shows it. */
  ledger: LedgerOverTime | null;
}

/** How often something happened in intervals of time, and how long all of it took; in order of their start. */
export interface Counted {
  id: string;
  title: string;
  process: string;
  note: string;
  t0: Float64Array;
  duration: Float64Array;
  name: Float64Array;
  /** Threads of the samples, one too high. */
  thread: Float64Array;
  count: Float64Array;
  /** Nanoseconds. */
  time: Float64Array;
}

export interface LedgerOverTime {
  /** Where slices begin and end: one more than there are slices. */
  edges: Float64Array;
  categories: string[];
  groupings: LedgerGrouping[];
}

export interface LedgerGrouping {
  by: string;
  /** Those first that changed most in the slow windows, then those that lost or ran most. */
  groups: { name: string; process: string }[];
  /** How many of the first ran or waited in the slow windows; absent in pages of a version before it. */
  active?: number;
  /** Microseconds: `spent[(slice * groups + group) * categories + category]`. */
  spent: Float64Array;
}
