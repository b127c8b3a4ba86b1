// Generated from the code: `FATHOM_BLESS=1 cargo test -p fathom-render typescript`.

import type { Confidence } from "./diagnosis";

export const COMPARE_SCHEMA = "fathom.compare-page/1" as const;

/** A finding of the first side, and what became of it on the second. */
export type Cause = {
  /** Its rule. */
  rule: string;
  /** Its title on the first side. */
  title: string;
  /** Who. */
  culprit: string;
  /** How sure the first side is. */
  confidence: Confidence;
  /** What became of it. */
  state: CauseState;
  /** Why that is reported. */
  why: string;
  /** What it cost; absent where that is not known. */
  before: CauseCost | null;
  /** What it costs now; absent where it is not found, or that is not known. */
  after: CauseCost | null;
};

/** What a cause costs. */
export type CauseCost = {
  /** Lost milliseconds of each second that was recorded. */
  ms_per_s: number;
  /** Lost milliseconds for each operation; absent where they are not counted on both sides. */
  ms_per_operation: number | null;
  /** Lost milliseconds in all. */
  ms: number;
};

/** What became of a cause. */
export type CauseState = "gone" | "smaller" | "same" | "larger" | "not-known";

/** What the diagnoses of both sides find. */
export type Causes = {
  /** Each diagnosis in a sentence. */
  headlines: [string, string];
  /** Findings of the first side, and what became of them on the second. */
  of_first: Array<Cause>;
  /** Findings of the second that the first has not. */
  new: Array<NewCause>;
};

/** What became of a frame's cost. */
export type Change = "new" | "gone" | "moved" | "more" | "less";

/** A command against the baseline. */
export type Comparison = {
  /** The baseline. */
  base: string;
  /** The other. */
  other: string;
  /** Benchmark; empty where a run gives one value. */
  figure: string;
  /** Whether more is better. */
  higher_is_better: boolean;
  /** The ratio other / baseline with its interval; absent with too few runs. */
  estimate: Estimate | null;
  /** The word. */
  verdict: Verdict;
  /**
   * Runs of each with which a difference as large as the margin would show 8 times in 10; only
   * where that cannot be known.
   */
  runs_needed: number | null;
  /** The same in one sentence. */
  sentence: string;
};

/** Something that a run depends on, as both sides have it. */
export type Condition = {
  /** What: "JDK", "CPUs", "flags". */
  what: string;
  /**
   * On the first side; absent where it is not known, or of flags where there is none that the
   * other side has not.
   */
  first: string | null;
  /** On the second. */
  second: string | null;
  /** Whether both sides are the same; absent where a side does not have it. */
  same: boolean | null;
};

/** Something that is not the same on both sides. */
export type Differing = {
  /** What: "JDK", "CPUs", "flags". */
  what: string;
  /** On the first side; absent where it is not known. */
  first: string | null;
  /** On the second. */
  second: string | null;
};

/** A ratio and where it lies. */
export type Estimate = {
  /** Other divided by baseline. */
  ratio: number;
  /** Lower end of the interval. */
  low: number;
  /** Upper end; null in JSON where it is infinite. */
  high: number | null;
  /**
   * Standard deviation of the logarithm of one block's ratio; of an unpaired comparison, what it
   * would be.
   */
  sigma: number;
  /** Blocks, or forks of the side with fewer. */
  pairs: number;
};

/** What differs in the samples. */
export type Frames = {
  /** What was sampled. */
  kind: string;
  /** Unit of costs: "share" of the samples, or "ms/op", "cycles/op". */
  unit: string;
  /** Samples on each side. */
  samples: [number, number];
  /** Operations on each side; absent where shares are compared. */
  operations: [number, number] | null;
  /** Frames that differ beyond noise (5% of them may be wrong), the largest difference first. */
  moved: Array<MovedFrame>;
  /** How many of them there are. */
  differ: number;
  /** Frames that were judged. */
  judged: number;
};

/** A metric of one side compared with the other. */
export type Held = {
  /** Mean over the segments of the first. */
  first: number;
  /** Mean over those of the second. */
  second: number;
  /** Second divided by first, where both are above zero. */
  ratio: Estimate | null;
  /**
   * Second less first lies between these, by Welch's interval; absent where the test is of
   * another kind.
   */
  difference: [number, number] | null;
  /** Chance of a difference as large by accident. */
  p_value: number;
};

/** What the runs were made on. */
export type Host = {
  /** Its name. */
  name: string;
  /** The kernel. */
  kernel: string;
  /** CPUs that fathom itself may use. */
  cpus: number;
};

/** A change that lies between the two sides. */
export type KnownChange = {
  /** Whether the second side has it; else the first. */
  second_has_it: boolean;
  /** Whether both releases have it, and flags that switch it differ: those are what it touches. */
  in_both: boolean;
  /**
   * Frames that moved, and flags on a command line, that it is about; empty where it only lies
   * between the releases.
   */
  touches: Array<string>;
  /** "JDK-8130150", "JEP 374". */
  id: string;
  /**
   * Releases that have it: "9" and all later ones; "8u262" and later updates of 8; "11.0.7" of
   * 11.
   */
  since: Array<string>;
  /** What it does, in a sentence. */
  what: string;
  /** Parts of names of frames in which it shows. */
  frames: Array<string>;
  /** Flags and system properties that it is about. */
  flags: Array<string>;
  /** How options begin that switch it on or off, against what is usual with it. */
  switches?: Array<string>;
  /**
   * Feature releases of which some updates have it, and nobody has looked up which: of these
   * nothing is said.
   */
  unsure?: Array<number>;
  /** The primary source: where its authors describe it. */
  url: string;
};

/** One look: after so many blocks, with so much of the chance of error. */
export type Look = {
  /** Blocks that are done. */
  blocks: number;
  /** The chance of a wrong claim at this look. */
  alpha: number;
};

/** A metric of both sides. */
export type Measure = {
  /** Its id: "gc.stopped", "syscalls.futex", "ledger.app.monitor". */
  id: string;
  /** In words. */
  name: string;
  /** Unit of both. */
  unit: string;
  /** On the first side. */
  first: number;
  /** On the second. */
  second: number;
  /** The test between segments of both, where there is one. */
  held: Held | null;
  /** Whether it differs by more than it varies within the two runs; set for all metrics together. */
  differs: boolean;
};

/** A frame whose own cost differs. */
export type MovedFrame = {
  /** Method or function. */
  name: string;
  /** Library, "kernel", or empty. */
  module: string;
  /** Its own cost on the first side. */
  first: number;
  /** On the second. */
  second: number;
  /** The difference lies between these. */
  difference: [number, number];
  /** With all that it calls, on both sides. */
  total: [number, number];
  /** The difference of that lies between these; absent where it was not judged. */
  total_difference: [number, number] | null;
  /** Chance of a difference as large by accident, of this frame alone. */
  p_value: number;
  /** Whether cost came, went or moved. */
  change: Change;
};

/** A finding of the second side that the first has not. */
export type NewCause = {
  /** Its rule. */
  rule: string;
  /** Its title. */
  title: string;
  /** Who. */
  culprit: string;
  /** How sure. */
  confidence: Confidence;
  /** What it costs, milliseconds of each second; absent where that is not known. */
  ms_per_s: number | null;
  /**
   * Whether the first side was able to show it: it is new then, and else only seen for the first
   * time.
   */
  before_saw: boolean;
};

export type Page = {
  schema: string;
  version: string;
  recordings: RecordingsReport | null;
  runs: Report | null;
};

/** The comparison of two recordings. */
export type RecordingsReport = {
  /** [`SCHEMA`]. */
  schema: string;
  /** What the two are. */
  of: [string, string];
  /** The time that each covers, seconds. */
  covers_s: [number, number];
  /** What makes them hard to compare: host, JDK, flags, heap, load. */
  differing: Array<Differing>;
  /** All that was looked at for that, the same and what is not known. */
  conditions: Array<Condition>;
  /** The verdict on the second. */
  verdict: Comparison;
  /** What the verdict is of, or why there is none. */
  verdict_of: string;
  /** Metrics of both, those that differ first. */
  measures: Array<Measure>;
  /** Frames whose share of the CPU samples differs; absent where a side has none. */
  frames: Frames | null;
  /**
   * Frames whose CPU time per operation differs; absent where a side has no CPU samples, or
   * where operations are not counted on both.
   */
  costs: Frames | null;
  /** Changes of the JDK between the two releases, and those that a flag of one side switches. */
  known_changes: Array<KnownChange>;
  /** What the diagnoses of both sides find; absent where they were not asked for. */
  causes: Causes | null;
};

/** The result of the runs. */
export type Report = {
  /** [`SCHEMA`]. */
  schema: string;
  /** What is compared, in words. */
  metric: string;
  /** What it ran on. */
  host: Host;
  /** Chance of any wrong claim in the verdicts below. */
  alpha: number;
  /** Looks at which the runs could have ended, and the chance of error of each. */
  looks: Array<Look>;
  /** The share of difference that does not matter. */
  margin: number;
  /** Runs of each command that count. */
  runs: number;
  /** Runs of each that do not. */
  warmup: number;
  /** Whether the user ended it. */
  ended_early: boolean;
  /** The commands, the baseline first; one row for each measurement of each. */
  commands: Array<Row>;
  /** Each other command against the baseline. */
  comparisons: Array<Comparison>;
  /** Benchmarks that only one of two files has. */
  not_compared?: Array<string>;
  /** What makes two files hard to compare. */
  differing?: Array<string>;
};

/** A measurement of a command. */
export type Row = {
  /** What it is called. */
  label: string;
  /** The command. */
  text: string;
  /** Benchmark; empty where a run gives one value. */
  figure: string;
  /** Unit of the values below. */
  unit: string;
  /** Runs. */
  runs: number;
  /** Mean over the runs. */
  mean: number;
  /** Smallest run. */
  min: number;
  /** Largest run. */
  max: number;
  /** Standard deviation between runs as a share of the mean; null in JSON with one run. */
  spread: number | null;
  /** What each run gave, in the order of the runs. */
  values: Array<number>;
  /**
   * The mean lies between these 95 times in 100, by Student's interval of these runs alone;
   * absent with one run. Verdicts rest on pairs of runs, whose interval is mostly narrower.
   */
  interval: [number, number] | null;
  /** Mean CPU time of a run, seconds; absent where nothing was run. */
  cpu_s: number | null;
  /** Runs whose series warms up first, and how many of its values at most. */
  warming_up: [number, number];
  /** Runs whose series never gets steady. */
  never_steady: number;
  /** Where three or more are compared: who shares a letter does not differ. */
  letters: string;
};

/** What is said of one thing compared with another. */
export type Verdict = "faster" | "slower" | "no_difference" | "cannot_tell";
