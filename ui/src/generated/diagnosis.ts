// Generated from the code: `FATHOM_BLESS=1 cargo test -p fathom-render typescript`.

/** A value without its unit: a number, a string, or null. */
export type Bare = number | string | null;

/** A slow window that begins with a mark. */
export type Began = {
  /** Where the window begins, nanoseconds on the recording's clock. */
  from_ns: number;
  /** How long before that the mark is, milliseconds; negative: after. */
  before_ms: number;
  /**
   * How far apart they may be without being distinguished, by the series' ticks and the clocks,
   * and where the mark is the earlier one by its precision.
   */
  within_ms: number;
};

/** Something that could not be seen. */
export type BlindSpot = {
  /** What. */
  what: Statement;
  /** Which rules are inconclusive because of it. */
  rules: Array<string>;
  /** What to switch on to see it; empty where nothing would show more. */
  remedy: Statement;
};

/**
 * What the time of a thread is attributed to. All time has one category; the order is that in
 * which they are shown.
 */
export type Category = "interpreted" | "c1" | "c2" | "jvm" | "gc" | "jit" | "native" | "kernel" | "kernel-fault" | "recorder" | "running" | "run-queue" | "throttled" | "frozen" | "stopped-by-gc" | "stopped-to-reach" | "stopped-by-log" | "stopped" | "allocation-stall" | "memory-stall" | "monitor" | "lock" | "native-lock" | "waiting" | "timed-wait" | "disk" | "network" | "dns" | "page-fault" | "map-lock" | "child" | "sleep" | "idle" | "blocked" | "unknown";

/** What a thread waited for, and what that waited for, to the end. */
export type Chain = {
  /** The thread that did not get on. */
  thread: string;
  /** Its id at the kernel. */
  tid: number | null;
  /** Its process. */
  process: string;
  /** The same as a row of the recording's processes. */
  process_id: ProcessId | null;
  /** The intervals looked at: from the first … */
  from_ns: number;
  /** … to the last of them, nanoseconds on the recording's clock. */
  to_ns: number;
  /** How long they are together, milliseconds. */
  ms: number;
  /** What it did in them, the longest first; their times add up to `ms`. */
  links: Array<ChainLink>;
};

/** Why a chain ends. */
export type ChainEnd = "running" | "hardware" | "outside" | "choice" | "deadlock" | "circle" | "not-followed" | "unknown";

/** One link: what a thread, or a device, did while the links before waited for it. */
export type ChainLink = {
  /** The thread; `None` for a device, for several holders of a lock, or where nobody knows. */
  thread: string | null;
  /** Its id at the kernel. */
  tid: number | null;
  /** Its process; empty where it is not known. */
  process: string;
  /** The same as a row of the recording's processes. */
  process_id: ProcessId | null;
  /**
   * What its time is attributed to, as in the ledger of threads; `None` for a device and for
   * what was not followed.
   */
  category: Category | null;
  /** What kind of link it is. */
  kind: LinkKind;
  /**
   * What it did: "waiting for shop.Cart that worker-7 held", "in write() on
   * /var/log/app.log".
   */
  what: Statement;
  /** Of the victim's time, milliseconds. */
  ms: number;
  /** The same as a share of the chain's time. */
  share: number;
  /** Intervals of time that it is made of. */
  times: number;
  /** The longest of them: its beginning, nanoseconds … */
  from_ns: number;
  /** … and its end. */
  to_ns: number;
  /** The stack that shows it, innermost frame first; empty where none was recorded. */
  stack: Array<string>;
  /** Where its record stands; empty where there is none. */
  source: string;
  /** Why the chain ends here; `None` where it goes on. */
  end: ChainEnd | null;
  /** What it itself waited for; their times add up to `ms`. */
  next: Array<ChainLink>;
};

/** A part of the loss, and what it is attributed to. */
export type Charge = {
  /**
   * The culprit of the finding, a part of the time that grew and that no finding explains, the
   * rest of stops, or that nothing recorded shows it.
   */
  to: Statement;
  /** What kind of charge it is. */
  kind: ChargeKind;
  /** Of a part that grew: on what the time was spent; `None` of the others. */
  category: Category | null;
  /** The finding, as a place in `findings`; `None` where none explains it. */
  finding: number | null;
  /** Milliseconds of the loss. */
  ms: number;
  /** The same as a share of the loss; all charges add up to 1. */
  share: number;
};

/** What a part of the loss is attributed to. */
export type ChargeKind = "finding" | "grew" | "smaller-parts" | "other-stops" | "not-known";

/** How sure a finding is. The words are explained in docs/diagnosis.md. */
export type Confidence = "consistent-with" | "likely" | "proven";

/** A verdict with all that stands behind it. */
export type Diagnosis = {
  /** [`SCHEMA`]. */
  schema: string;
  /** Version of fathom. */
  version: string;
  /** The id of the recording; `None` of files that are none, and of several recordings. */
  recording: string | null;
  /** The recordings that were read, each with its ranges of ids. */
  recordings: Array<RecordingPart>;
  /** What it comes to. */
  status: Status;
  /** One sentence: what took the time, or what was looked at without a cause being found. */
  headline: Statement;
  /** What was looked at, for how long, and what the largest parts of the time were. */
  seen: Seen;
  /** What was read, and how it was put on the clock. */
  inputs: Array<Input>;
  /** Whether times are wall-clock times; otherwise they count from `zero_ns`. */
  wall_clock: boolean;
  /** The time that relative times ("at 145 s") count from, nanoseconds on the recording's clock. */
  zero_ns: number;
  /** The windows compared. */
  windows: Windows;
  /** What people or their tools did meanwhile, in order of time. */
  marks: Array<Mark>;
  /** What was lost in the slow windows. */
  loss: Loss;
  /**
   * The loss attributed to findings and to what is left: adds up to `loss.lost_ms`. Empty where
   * no loss was measured.
   */
  account: Array<Charge>;
  /** Where the time went in the slow windows and in the baseline, per process. */
  ledger: Array<LedgerRow>;
  /** Causes found, the one that explains most lost time first. */
  findings: Array<Finding>;
  /**
   * Causes that were looked for and not found, with the value that says so. What they rest on
   * covers
   * [`crate::COVERED`] of the slow windows or more.
   */
  ruled_out: Array<RuledOut>;
  /** What could not be seen, and what to switch on to see it. */
  blind_spots: Array<BlindSpot>;
  /** Self-checks of the inputs that failed, alignments that are only offered, and other warnings. */
  warnings: Array<Statement>;
};

/** A fact and where it was recorded. */
export type Evidence = {
  /** What was measured, by its id in docs/evidence.md; null for text that is no metric. */
  metric: string | null;
  value: Bare;
  unit: Unit | null;
  baseline: Bare;
  /** Further quantities, names and lists, by their names. */
  details: { [key in string]: Value };
  /** The fact in words, figures and units included. */
  text: string;
  /** Where it stands: "gc.log:1234", "gc.log (93 pauses)". */
  source: string;
  file: string | null;
  line: number | null;
  /** Of how many records it is a summary. */
  records: number | null;
  /** The moment that it speaks of, nanoseconds on the recording's clock. */
  at_ns: number | null;
  span_id: SpanId | null;
  thread_id: ThreadId | null;
  stack_id: StackId | null;
};

/** A metric with what was measured. */
export type Fact = {
  metric: string | null;
  value: Bare;
  unit: Unit | null;
  baseline: Bare;
  details: { [key in string]: Value };
  text: string;
};

/** Stops that take less of the time than what matters, none of them long. */
export type FewStops = {
  /** As a share of the time, 0 to 1. */
  share: number;
  /** The longest, milliseconds. */
  longest_ms: number;
};

/** A cause. */
export type Finding = {
  /** Rule id: "jit-compile-burst". */
  rule: string;
  /** One line: what it is, with its main metric. */
  title: Statement;
  /** The layer that it lies in. */
  layer: Layer;
  /** How sure. */
  confidence: Confidence;
  /** Why it is not surer, or what makes it sure. */
  why_confidence: Array<Statement>;
  /**
   * Lost time that it explains, milliseconds; 0, and null in JSON, where that is not known or
   * none.
   */
  cost_ms: number | null;
  /** The same as a share of the loss, 0 to 1; `None` where the loss could not be measured. */
  share: number | null;
  /**
   * How much of the slow windows the sources cover that it rests on, 0 to 1. Where that is not
   * all of them, `share` is of the loss in the part that is covered.
   */
  covered_share: number;
  /** Who: method, thread, lock, process, file, device. */
  culprit: Statement;
  /** The process in which it was seen, in words that no other JVM of the recording goes by. */
  process: string;
  /**
   * The process, as a row of the recording's processes: what findings of one process are known
   * by.
   */
  process_id: ProcessId;
  /** The id of the recording that the process is of; `None` of files that are none. */
  recording: string | null;
  /** Its pid, where it is known. */
  pid: number | null;
  /** When it started, nanoseconds on the recording's clock, where that is known. */
  started_ns: number | null;
  /** What it means, for somebody who does not know it. */
  meaning: Statement;
  /** What was measured, and where. */
  evidence: Array<Evidence>;
  /** What to change. */
  remedies: Array<Remedy>;
  /** How to see that it helped. */
  verify: Array<Statement>;
  /** The intervals in which it acted, for the timeline. */
  windows: Array<Window>;
  /** Of a finding about waits: what the thread that waited longest waited for, link by link. */
  chain: Chain | null;
  /** Of a finding about stops of the JVM: the longest of them, cut into its parts. */
  stop: Stop | null;
};

/** What slow windows were found on. */
export type FoundOn = "whole-run" | "given" | "series" | "exchanges" | "change" | "stops" | "kept";

/** Ids of one table. */
export type Ids = {
  /** The first one: the row 0 of that recording's table. */
  from: number;
  /** One behind the last. */
  to: number;
};

/** One input as it was read. */
export type Input = {
  /** Its name. */
  name: string;
  /** Its format. */
  format: string;
  /** The process that it is of. */
  process: string | null;
  /** The same as a row of the recording's processes. */
  process_id: ProcessId | null;
  /** The id of the recording that it is of; `None` of files that are none. */
  recording: string | null;
  /** Records taken, skipped and lost. */
  records: number;
  /** Lines not understood. */
  skipped: number;
  /** Records known to be missing. */
  lost: number;
  /** How it was put on the clock, as the recording has it. */
  placed: string;
  /** To within how many nanoseconds; `None` where it could not be put on the clock. */
  uncertainty_ns: number | null;
};

/** The layer that a cause lies in. */
export type Layer = "application" | "jit" | "gc" | "safepoint" | "cpu" | "memory" | "storage" | "network";

/**
 * What a row of the ledger is of. Stops are those of the ledger of threads ([`Category`]), with
 * the same ids.
 */
export type LedgerCategory = "stopped-by-gc" | "stopped-to-reach" | "stopped-to-leave" | "stopped" | "stopped-by-log" | "frozen" | "not-stopped" | "unknown" | "compilers" | "progress";

/**
 * Time of one process (or of all) attributed to one category, in the slow windows and in the
 * baseline.
 */
export type LedgerRow = {
  /** The process, in words that no other JVM of the recording goes by. */
  process: string;
  /** The process, as a row of the recording's processes; `None` for progress. */
  process_id: ProcessId | null;
  /** The id of the recording that the process is of; `None` of files that are none. */
  recording: string | null;
  /** Its pid, where it is known. */
  pid: number | null;
  /** What it is of. */
  category_id: LedgerCategory;
  /** Of compilers: which, "c1" or "c2", where the log says it. */
  compiler: string | null;
  /**
   * The same in words: "stopped: GC", "stopped: other VM operations", "stopped: time to
   * safepoint", "not stopped", "compiler threads busy: C2", "unknown".
   */
  category: string;
  /**
   * Whether rows of this category are part of the sum that makes up the window (compiler time is
   * not).
   */
  in_sum: boolean;
  /** Milliseconds in the slow windows; `None` when not seen. */
  slow_ms: number | null;
  /** Milliseconds in the baseline windows. */
  base_ms: number | null;
  /** As a share of the slow windows' length (can pass 1 for compiler threads). */
  slow_share: number | null;
  /** As a share of the baseline windows' length. */
  base_share: number | null;
};

/** What a link is; [`Link::what`] says more. */
export type LinkKind = "thread" | "holders" | "holder" | "holder-unknown" | "stop" | "stop-unknown" | "again" | "cpu" | "cpu-unknown" | "disk" | "disk-unknown" | "outside" | "smaller";

/** What was lost. */
export type Loss = {
  /**
   * Lost time over all slow windows, milliseconds: each window's length × (1 − rate / baseline
   * rate), or the stopped time above the baseline's where there is no series of progress.
   */
  lost_ms: number;
  /** Progress per second in the slow windows, in `unit`. */
  slow_rate: number | null;
  /** Progress per second in the baseline windows. */
  base_rate: number | null;
  /** Unit of the rates, "ops/s". */
  unit: string;
  /** What it was measured on; `None` where it was not. */
  measure: Measure | null;
  /** The same in words: "throughput of client0, client1, client2", "stops of the JVM". */
  measured_on: string;
};

/** Something that people or their tools did: a deploy, a migration. */
export type Mark = {
  /** When, nanoseconds on the recording's clock. */
  at_ns: number;
  /** What they say it was. */
  text: string;
  /** What the last digit of its time stands for, nanoseconds. */
  precision_ns: number;
  /** Where it stands: "--mark", "deploys.csv:12". */
  source: string;
  /** The slow window that begins with it: a fact, and not a cause. */
  began: Began | null;
};

/** What a loss is measured on. */
export type Measure = "throughput" | "latency" | "exchanges" | "stops";

/** A part of the time. */
export type Part = {
  /** The process. */
  process: string;
  /** The same as a row of the recording's processes. */
  process_id: ProcessId;
  /** The id of the recording that the process is of; `None` of files that are none. */
  recording: string | null;
  /** Whose time. */
  of: PartOf;
  /** What it was spent on, as in the ledger of threads; all running time is `running`. */
  category: Category;
  /**
   * The same with what is known of it: "blocked: Java monitor", "waiting for the network at
   * db:5432 in shop.Orders.load", "stopped: GC".
   */
  what: Statement;
  /** Milliseconds in the slow windows, added up over threads. */
  ms: number;
  /** As a share of that time. */
  share: number;
  /** The share in the baseline windows; `None` without a baseline. */
  base_share: number | null;
  /** Milliseconds for each operation; `None` where operations are not counted, and of stops. */
  per_operation_ms: number | null;
  /** The same in the baseline windows. */
  base_per_operation_ms: number | null;
  /**
   * What it was in particular, where that is known: "2 × Pause Young (Normal), G1 Humongous
   * Allocation"; of the largest part of the application threads' time, that a pool of threads
   * always had work.
   */
  details: Array<Statement>;
};

/** Whose time a part is of. */
export type PartOf = "application-threads" | "jvm";

/** Parts of a stop. */
export type PartOfStop = "reach" | "operation" | "log-write" | "leave";

/** A process; for JVMs, one run of a JVM. */
export type ProcessId = number;

/** A recording among those that were read together. */
export type RecordingPart = {
  /** Its id; `None` of one of an older version. */
  recording: string | null;
  /** The host that it was made on. */
  host: string | null;
  /** The service that is recorded. */
  service: string | null;
  /** Its processes. */
  processes: Ids;
  /** Its sources. */
  sources: Ids;
  /** Its threads. */
  threads: Ids;
  /** Its stacks. */
  stacks: Ids;
};

/** A change that helps. */
export type Remedy = {
  /** The exact flag, setting or change. */
  change: Statement;
  /** Since which JDK (or for which range) it exists; empty when that does not matter. */
  applies_to: string;
  /** What it costs or risks. */
  risk: string;
};

/** A cause that was looked for and not found. */
export type RuledOut = {
  /** Rule id, or the name of a group ("gc"). */
  rule: string;
  /** The process whose metric it is, as a row of the recording's processes. */
  process_id: ProcessId;
  /** The id of the recording that the process is of; `None` of files that are none. */
  recording: string | null;
  /** The metric that says so. */
  figure: Statement;
  /** Where the value comes from. */
  source: string;
};

/** What was looked at. */
export type Seen = {
  /** The slow windows, or the whole run where there are none, milliseconds. */
  judged_ms: number;
  /**
   * Slow time that no source but the series covers, milliseconds: it is left out of the windows
   * and of the loss.
   */
  unrecorded_ms: number;
  /** Whether a loss was looked for: on a series, or on stops. */
  loss_measured: boolean;
  /** What was seen of the JVMs. */
  sights: Array<Sighted>;
  /**
   * The stops of the JVM that was stopped most, where those of all JVMs were seen and take less
   * than what matters: then the collectors are healthy.
   */
  few_stops: FewStops | null;
  /**
   * The largest parts of the time, those that grew most above the baseline first. Empty where
   * the findings explain half of the loss or more.
   */
  largest: Array<Part>;
  /**
   * What application threads did but for having no work, whatever the findings explain: of the
   * process in which most changed, those parts first that grew most above the baseline. Empty
   * where the context switches were not seen.
   */
  threads: Array<Part>;
};

/** Something that was seen of the JVMs. */
export type Sighted = {
  /** What: "collections", "waits for locks". */
  what: string;
  /** The sources that show it. */
  sources: Array<string>;
  /** How much of `judged_ms` they cover, 0 to 1, of the JVM of which they cover most. */
  share: number;
};

/** A row of the spans table. */
export type SpanId = number;

/** A node of the stack prefix tree: parent and frame. */
export type StackId = number;

/** A fact and the sentence that states it. It reads as its sentence; JSON has both. */
export type Statement = {
  metric: string | null;
  value: Bare;
  unit: Unit | null;
  baseline: Bare;
  details: { [key in string]: Value };
  text: string;
};

/** What a diagnosis comes to. */
export type Status = "found" | "not-explained" | "no-cause-found" | "healthy" | "nothing-to-judge";

/** A stop of a JVM, cut into parts. */
export type Stop = {
  /** The JVM, in words that no other JVM of the recording goes by. */
  process: string;
  /** The same as a row of the recording's processes. */
  process_id: ProcessId;
  /** The VM operation. */
  operation: string;
  /** When it was asked for, nanoseconds on the recording's clock. */
  from_ns: number;
  /** When the threads ran again. */
  to_ns: number;
  /** Its length, milliseconds. */
  ms: number;
  /** The thread that asked for it, where that is known. */
  asked_by: string | null;
  /** The thread that all others waited for until they had stopped. */
  last_in: string | null;
  /** How that is known. */
  last_in_how: Statement | null;
  /** The stack at which it came in, innermost frame first. */
  last_in_stack: Array<string>;
  /** Its parts, in order of time; their lengths add up to `ms`. */
  parts: Array<StopPart>;
  /** Where its record stands. */
  source: string;
};

/** A part of a stop. */
export type StopPart = {
  /** Which. */
  part: PartOfStop;
  /** In words. */
  words: string;
  /**
   * When it begins, nanoseconds. Writes of the log may lie within another part, which is
   * interrupted by them.
   */
  from_ns: number;
  /** When it ends. */
  to_ns: number;
  /** Its length, milliseconds. */
  ms: number;
  /** What the thread behind it did meanwhile: the last one in, then the VM thread. */
  links: Array<ChainLink>;
};

/** A thread of a process. */
export type ThreadId = number;

/** What a number counts. */
export type Unit = "count" | "share" | "ms" | "bytes" | "per-second" | "bytes-per-second" | "bytes-per-minute" | "cpus" | "duration-seconds" | "load" | "seconds" | "of-series" | "number";

/** A number with its unit, a name, a category of time, or a list of facts. */
export type Value = {
  parts: Array<Fact>;
  } | { value: Bare;
  unit: Unit | null;
};

/** An interval of time, nanoseconds on the recording's clock: `[from_ns, to_ns)`. */
export type Window = {
  /** Its start. */
  from_ns: number;
  /** Its end. */
  to_ns: number;
};

/** The windows that are compared. */
export type Windows = {
  /** Slow ones, in order of time. */
  slow: Array<Window>;
  /** Normal ones. */
  base: Array<Window>;
  /** What they were found on. */
  found_on: FoundOn;
  /** How they were found, or that the user gave them, and what times count from. */
  how: Array<Statement>;
};
