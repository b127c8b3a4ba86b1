// What stands in the page of a comparison: the report as `fathom compare --json` prints it, and flame graphs beside it.
// Written by crates/render/src/compare/page.rs; the types are those of crates/compare/src/{judge,recordings}.

import { parsePrintable } from "../printable";

export const COMPARE_SCHEMA = "fathom.compare-page/1";

export type Verdict = "faster" | "slower" | "no_difference" | "cannot_tell";

/** Two numbers: of A and of B, or the ends of an interval. A figure that is no number is null in JSON. */
export type Two = [number, number];

export interface Estimate {
  ratio: number;
  low: number;
  high: number | null;
  pairs: number;
}

export interface Comparison {
  base: string;
  other: string;
  figure: string;
  higher_is_better: boolean;
  estimate: Estimate | null;
  verdict: Verdict;
  runs_needed: number | null;
  sentence: string;
}

export interface Condition {
  what: string;
  first: string | null;
  second: string | null;
  /** Null where a side has no figure. */
  same: boolean | null;
}

export interface Measure {
  id: string;
  name: string;
  unit: string;
  first: number;
  second: number;
  /** The test between intervals of both; null where there is none. */
  held: {
    first: number;
    second: number;
    ratio: Estimate | null;
    difference: Two | null;
    p_value: number | null;
  } | null;
  differs: boolean;
}

export type Change = "new" | "gone" | "moved" | "more" | "less";

export interface MovedFrame {
  name: string;
  module: string;
  first: number;
  second: number;
  difference: Two;
  total: Two;
  total_difference: Two | null;
  p_value: number;
  change: Change;
}

export interface Frames {
  kind: string;
  unit: string;
  samples: Two;
  operations: Two | null;
  moved: MovedFrame[];
  differ: number;
  judged: number;
}

export interface KnownChange {
  change: { id: string; since: string[]; what: string; url: string };
  second_has_it: boolean;
  touches: string[];
}

export interface Recordings {
  of: [string, string];
  covers_s: Two;
  conditions: Condition[];
  verdict: Comparison;
  verdict_of: string;
  measures: Measure[];
  frames: Frames | null;
  costs: Frames | null;
  known_changes: KnownChange[];
}

export interface Row {
  label: string;
  text: string;
  figure: string;
  unit: string;
  runs: number;
  mean: number;
  min: number;
  max: number;
  spread: number | null;
  values: number[];
  interval: Two | null;
  cpu_s: number | null;
  warming_up: Two;
  never_steady: number;
  letters: string;
}

export interface Runs {
  metric: string;
  host: { name: string; kernel: string; cpus: number };
  alpha: number;
  margin: number;
  runs: number;
  warmup: number;
  ended_early: boolean;
  looks: { blocks: number }[];
  commands: Row[];
  comparisons: Comparison[];
  not_compared?: string[];
  differing?: string[];
}

export interface ComparePage {
  schema: string;
  version: string;
  recordings: Recordings | null;
  runs: Runs | null;
}

export function readPage(json: string): ComparePage {
  const page = parsePrintable(json) as ComparePage;
  if (page?.schema !== COMPARE_SCHEMA) throw new Error(`data of an unknown kind: ${String(page?.schema)}`);
  return page;
}
