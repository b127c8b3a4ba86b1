// What a flame graph is drawn from: a call tree in typed arrays, one place a node. Written by
// crates/render/src/flame/ and, for a brushed window, by the page itself.

import { FRAME_TYPES } from "../generated/flame";

/** Types of frames, in the order of their codes in `FlameData.type`. */
export { FRAME_TYPES };
export type FrameType = (typeof FRAME_TYPES)[number];

/**
 * How much of a node's total each kind of compiled or interpreted Java took; absent where
 * every node has one type.
 */
export interface FlameMix {
  interpreted: Float64Array;
  c1: Float64Array;
  c2: Float64Array;
  inlined: Float64Array;
}

/** The other side of a comparison, node by node. */
export interface FlameBase {
  /**
   * Weight of the node itself and with all below it, in the unit of the graph, as it was measured.
   */
  self: Float64Array;
  total: Float64Array;
  /**
   * What a base figure is multiplied with to be comparable: seconds, samples or operations
   * here by those there.
   */
  scale: number;
  /** The comparison in words: "per second of wall time". */
  normalised: string;
  /**
   * Standard errors of the difference to the scaled base; not-a-number where there are too
   * few samples to judge.
   */
  selfError: Float64Array;
  totalError: Float64Array;
  /** From how many standard errors on a difference is more than noise; infinite where none is. */
  selfLimit: number;
  totalLimit: number;
  /**
   * The same frame by frame, by name id; frames are judged by the sums of their nodes' variances
   * where this is absent.
   */
  frames?: FrameErrors | null;
  /** What it is: "115 s – 125 s". */
  label: string;
}

/** Standard errors and limits of frames, by name id. */
export interface FrameErrors {
  selfError: Float64Array;
  totalError: Float64Array;
  selfLimit: number;
  totalLimit: number;
}

export interface FlameData {
  /** What was sampled: "cpu", "off-cpu", "alloc" … */
  kind: string;
  /** Unit of the weights. */
  unit: string;
  /** How many samples (or spans) there are. */
  samples: number;
  /** What was selected, in words: the window, the threads. */
  label: string;
  /**
   * Names of frames and the library that each is in (empty for Java), by name id.
   * Printable: see printable.ts.
   */
  names: string[];
  modules: string[];
  /**
   * The caller's place, -1 for the root, which is the first; parents stand before their children.
   */
  parent: Int32Array;
  /** Name id. */
  name: Int32Array;
  /** Code of `FRAME_TYPES`: the type that took most. */
  type: Uint8Array;
  /** Weight of the node itself. */
  self: Float64Array;
  /** Weight of the node with all below it. */
  total: Float64Array;
  mix: FlameMix | null;
  /**
   * Whether a node's frame stands among its callers too, 1 or 0; walked for where this is absent.
   */
  recursive?: Uint8Array | null;
  base: FlameBase | null;
  /** What a reader should know: losses, what was left out. */
  notes: string[];
}

/**
 * Totals from weights: each node's own with all below it. Parents stand before children, so
 * one pass back does it.
 */
export function totals(parent: Int32Array, self: Float64Array): Float64Array {
  const total = Float64Array.from(self);
  for (let i = parent.length - 1; i > 0; i--) total[parent[i]] += total[i];
  return total;
}

/** How a node compares with the baseline. */
export interface Change {
  /** What the baseline had, made comparable. */
  base: number;
  difference: number;
  /** "more" and "less" are beyond noise. */
  verdict: "more" | "less" | "noise" | "too-few";
  /** Nothing of it is on the other side. */
  added: boolean;
  vanished: boolean;
}

export function change(data: FlameData, node: number, of: "self" | "total"): Change | null {
  const { base } = data;
  if (!base) return null;
  return compare(
    data[of][node],
    base[of][node] * base.scale,
    (of === "self" ? base.selfError : base.totalError)[node],
    of === "self" ? base.selfLimit : base.totalLimit,
  );
}

export function compare(here: number, there: number, error: number, limit: number): Change {
  const difference = here - there;
  const judged = Number.isFinite(error) && error > 0;
  const beyond = judged && Math.abs(difference) >= limit * error;
  return {
    base: there,
    difference,
    verdict: !judged ? "too-few" : !beyond ? "noise" : difference > 0 ? "more" : "less",
    added: there === 0 && here > 0,
    vanished: here === 0 && there > 0,
  };
}
