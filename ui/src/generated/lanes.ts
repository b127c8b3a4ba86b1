// Generated from the code: `FATHOM_BLESS=1 cargo test -p fathom-render typescript`.

import type { ProcessId } from "./diagnosis";

import type { ColumnId } from "./payload";

export const LANES_SCHEMA = "fathom.lanes/1" as const;

/** A table of counts in the header. */
export type Counted = {
  id: string;
  title: string;
  process: string;
  note: string;
  t0: ColumnId;
  duration: ColumnId;
  name: ColumnId;
  /** Threads of fathom-samples, 1-based. */
  thread: ColumnId;
  count: ColumnId;
  /** Nanoseconds. */
  time: ColumnId;
};

export type Group = {
  name: string;
  detail: string;
  /** Whether it is open before anybody folds or unfolds it. */
  open: boolean;
  lanes: Array<Lane>;
};

export type Grouping = {
  by: string;
  /** Those first that changed most in the slow windows, then those that lost or ran most. */
  groups: Array<ThreadGroup>;
  /** How many of the first ran or waited in the slow windows; the rest were idle. */
  active: number;
  /** Microseconds: `spent[(slice * groups + group) * categories + category]`. */
  spent: ColumnId;
};

export type Header = {
  schema: string;
  origin_ns: number;
  from: number;
  to: number;
  /**
   * When somebody looked, from the origin: a span may have begun before, and a series go on
   * after.
   */
  recorded: [number, number];
  strings: Array<string>;
  sources: Array<string>;
  groups: Array<Group>;
  counted: Array<Counted>;
  ledger: OverTime | null;
};

export type Lane = { "type": "lines" } & LineLane | { "type": "spans" } & SpanLane;

export type Line = {
  name: string;
  main: boolean;
  t: ColumnId;
  v: ColumnId;
};

export type LineLane = {
  id: string;
  title: string;
  unit: string;
  steps: boolean;
  /** As of the group. */
  open: boolean;
  note: string;
  lines: Array<Line>;
};

export type Named = {
  name: string;
  unit: string;
  values: ColumnId;
};

/** What is in the header. */
export type OverTime = {
  /** Where slices begin and end, from the origin: one more than there are slices. */
  edges: ColumnId;
  /** Categories in words, in their order. */
  categories: Array<string>;
  groupings: Array<Grouping>;
};

export type SpanLane = {
  id: string;
  title: string;
  note: string;
  classes: Array<string>;
  rows: Array<string>;
  t0: ColumnId;
  duration: ColumnId;
  cls: ColumnId;
  row: ColumnId;
  name: ColumnId;
  parts: Array<Named>;
  facts: Array<Named>;
  labels: Array<Named>;
  source: ColumnId;
  line: ColumnId;
  /** Nodes of the stacks of fathom-samples, 1-based; absent when no span has one. */
  stack: ColumnId | null;
  /** Threads of fathom-samples, 1-based; absent when no span has one. */
  thread: ColumnId | null;
};

export type ThreadGroup = {
  name: string;
  process: string;
  /** The same as a row of the recording's processes; `None` of what several have. */
  process_id: ProcessId | null;
};
