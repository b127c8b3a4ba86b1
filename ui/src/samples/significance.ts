// What of a difference is noise. The same definition as `fathom flame` has
// (crates/diagnose/src/stacks/compare.rs): the larger of two standard errors, by counting (Poisson)
// and by blocks of time (Cochran's ratio estimator), and a limit by Benjamini and Hochberg, so that
// of the frames called different 5 % may be wrong.

import type { Chosen } from "./select";
import type { SampleKind } from "./table";

export type Normalisation = "wall" | "share" | "operation";

const FEWEST_SAMPLES = 5;
const FEWEST_BLOCKS = 8;
const MOST_BLOCKS = 32;
const SAMPLES_A_BLOCK = 16;
const FALSE_DISCOVERIES = 0.05;
/** Student's 97.5 % quantiles for 7 to 31 degrees of freedom: one less than there are blocks. */
const STUDENT = [
  2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074, 2.069,
  2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042, 2.04,
];

/** One side of a comparison on the nodes of a tree. */
export interface Side {
  chosen: Chosen;
  /** Node in which each row of `chosen` ends. */
  ends: Int32Array;
  /** Operations completed in a range, where they are known. */
  operations: (from: number, to: number) => number;
}

/** Sums on one side, with their variances. */
export interface Measured {
  denominator: number;
  own: Float64Array;
  total: Float64Array;
  count: Float64Array;
  totalCount: Float64Array;
  ownVariance: Float64Array;
  totalVariance: Float64Array;
  /** The least variance of a node: "not seen" is not "never". */
  leastVariance: number;
}

/** The same for a tree to which nodes were added that this side has nothing of. */
export function widened(side: Measured, nodes: number): Measured {
  const longer = (column: Float64Array, rest = 0): Float64Array => {
    if (column.length === nodes) return column;
    const out = new Float64Array(nodes);
    out.set(column);
    if (rest !== 0) out.fill(rest, column.length);
    return out;
  };
  return {
    ...side,
    own: longer(side.own),
    total: longer(side.total),
    count: longer(side.count),
    totalCount: longer(side.totalCount),
    ownVariance: longer(side.ownVariance, side.leastVariance),
    totalVariance: longer(side.totalVariance, side.leastVariance),
  };
}

export function addUp(parent: Int32Array, own: Float64Array): Float64Array {
  const total = own.slice();
  for (let i = parent.length - 1; i > 0; i--) total[parent[i]] += total[i];
  return total;
}

export function measure(kind: SampleKind, parent: Int32Array, side: Side, by: Normalisation): Measured {
  const n = parent.length;
  const { rows } = side.chosen;
  const { ends } = side;
  const { weight } = kind;
  const own = new Float64Array(n);
  const count = new Float64Array(n);
  // Sums of squares at first, turned into variances where they stand: a window has a
  // hundred thousand nodes.
  const ownVariance = new Float64Array(n);
  for (let k = 0; k < rows.length; k++) {
    const w = weight[rows[k]];
    const end = ends[k];
    own[end] += w;
    ownVariance[end] += w * w;
    count[end]++;
  }
  const total = own.slice();
  const totalVariance = ownVariance.slice();
  const totalCount = count.slice();
  for (let i = n - 1; i > 0; i--) {
    if (totalCount[i] === 0) continue;
    const up = parent[i];
    total[up] += total[i];
    totalVariance[up] += totalVariance[i];
    totalCount[up] += totalCount[i];
  }
  const denominator =
    by === "wall"
      ? side.chosen.coveredNs / 1e9
      : by === "share"
        ? total[0]
        : side.chosen.ranges.reduce((sum, r) => sum + side.operations(r.from, r.to), 0);
  const squares = totalVariance[0];
  const oneSample = squares / Math.max(1, totalCount[0]);
  const shares = by === "share" && total[0] > 0 ? total[0] : 0;
  toVariance(ownVariance, own, shares, squares, oneSample);
  toVariance(totalVariance, total, shares, squares, oneSample);
  const blocks = blocksOf(side.chosen);
  if (blocks > 0 && denominator > 0)
    betweenBlocks(kind, parent, side, by, blocks, { denominator, own, total, ownVariance, totalVariance });
  return { denominator, own, total, count, totalCount, ownVariance, totalVariance, leastVariance: oneSample };
}

/**
 * From sums of squares to the variance by counting, at least that of one sample. `whole` is above 0
 * where shares are compared.
 */
function toVariance(
  square: Float64Array,
  weight: Float64Array,
  whole: number,
  allSquares: number,
  oneSample: number,
): void {
  for (let i = 0; i < square.length; i++) {
    let variance = square[i];
    if (whole > 0) {
      const share = weight[i] / whole;
      variance = (1 - share) * (1 - share) * variance + share * share * Math.max(0, allSquares - variance);
    }
    square[i] = Math.max(variance, oneSample);
  }
}

function blocksOf(chosen: Chosen): number {
  const blocks = Math.min(Math.floor(chosen.rows.length / SAMPLES_A_BLOCK), MOST_BLOCKS);
  return blocks < FEWEST_BLOCKS || chosen.coveredNs < blocks ? 0 : blocks;
}

/**
 * The ends of blocks of equal length, in covered time mapped back to the clock, with
 * each block's ranges.
 */
export function cut(chosen: Chosen, blocks: number): { from: number; to: number }[][] {
  const out: { from: number; to: number }[][] = [];
  let at = 0;
  let from = chosen.ranges[0]?.from ?? 0;
  let used = 0;
  for (let block = 1; block <= blocks; block++) {
    const end = (chosen.coveredNs * block) / blocks;
    const part: { from: number; to: number }[] = [];
    while (used < end && at < chosen.ranges.length) {
      const range = chosen.ranges[at];
      const left = range.to - from;
      const take = Math.min(left, end - used);
      part.push({ from, to: from + take });
      used += take;
      if (take >= left) {
        at++;
        from = chosen.ranges[at]?.from ?? range.to;
      } else from += take;
    }
    out.push(part);
  }
  return out;
}

/**
 * Σ(x − r·d)² is Σx² − 2r·Σxd + r²·Σd², so that a block costs only the nodes that are in it. Raises
 * variances that it exceeds.
 */
function betweenBlocks(
  kind: SampleKind,
  parent: Int32Array,
  side: Side,
  by: Normalisation,
  blocks: number,
  into: Pick<Measured, "denominator" | "own" | "total" | "ownVariance" | "totalVariance">,
): void {
  const n = parent.length;
  const { rows } = side.chosen;
  const { t, weight } = kind;
  const [xx, xd] = [new Float64Array(n), new Float64Array(n)];
  const [allXx, allXd] = [new Float64Array(n), new Float64Array(n)];
  const x = new Float64Array(n);
  // Which nodes have any of the block, a bit each: from the last one up to the root, each is met
  // once, after all below it.
  const touched = new Int32Array((n >> 5) + 1);
  // Nodes that the block's samples end in, each once.
  const leaves = new Int32Array(n);
  let dd = 0;
  let first = 0;
  cut(side.chosen, blocks).forEach((part, b) => {
    const end = b === blocks - 1 ? rows.length : rowBefore(t, rows, first, part[part.length - 1]?.to ?? 0);
    let sum = 0;
    let n = 0;
    for (let k = first; k < end; k++) {
      const w = weight[rows[k]];
      sum += w;
      const leaf = side.ends[k];
      if (x[leaf] === 0 && w > 0) leaves[n++] = leaf;
      x[leaf] += w;
    }
    first = end;
    const d =
      by === "wall"
        ? part.reduce((sum, r) => sum + r.to - r.from, 0) / 1e9
        : by === "share"
          ? sum
          : part.reduce((sum, r) => sum + side.operations(r.from, r.to), 0);
    dd += d * d;
    for (let k = 0; k < n; k++) {
      const leaf = leaves[k];
      const w = x[leaf];
      xx[leaf] += w * w;
      xd[leaf] += w * d;
      touched[leaf >> 5] |= 1 << (leaf & 31);
    }
    addUpTouched(parent, x, touched, allXx, allXd, d);
  });
  const student = STUDENT[blocks - FEWEST_BLOCKS] ?? 2;
  const widening = ((student / 1.959964) ** 2 * blocks) / (blocks - 1);
  raise(into.ownVariance, xx, xd, into.own, into.denominator, dd, widening);
  raise(into.totalVariance, allXx, allXd, into.total, into.denominator, dd, widening);
}

/**
 * Adds the weights of the touched nodes up to the root, takes their squares and products, and
 * leaves weights and bits at 0.
 */
function addUpTouched(
  parent: Int32Array,
  x: Float64Array,
  touched: Int32Array,
  xx: Float64Array,
  xd: Float64Array,
  d: number,
): void {
  for (let word = touched.length - 1; word >= 0; word--) {
    // Parents stand before their children: bits that are set on the way are still ahead.
    while (touched[word] !== 0) {
      const bit = 31 - Math.clz32(touched[word]);
      touched[word] &= ~(1 << bit);
      const node = (word << 5) | bit;
      const w = x[node];
      x[node] = 0;
      xx[node] += w * w;
      xd[node] += w * d;
      if (node === 0) continue;
      const up = parent[node];
      x[up] += w;
      touched[up >> 5] |= 1 << (up & 31);
    }
  }
}

function raise(
  variance: Float64Array,
  xx: Float64Array,
  xd: Float64Array,
  weight: Float64Array,
  denominator: number,
  dd: number,
  widening: number,
): void {
  for (let i = 0; i < variance.length; i++) {
    if (xx[i] === 0) continue;
    const r = weight[i] / denominator;
    const between = (xx[i] - 2 * r * xd[i] + r * r * dd) * widening;
    if (between > variance[i]) variance[i] = between;
  }
}

/** The first of the rows from `first` on that is not before `to`. */
function rowBefore(t: Float64Array, rows: Int32Array, first: number, to: number): number {
  let low = first;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (t[rows[middle]] < to) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Standard error of each difference; not-a-number where there are too few samples to judge. */
export function errors(here: Measured, base: Measured, scale: number, of: "own" | "total"): Float64Array {
  const [varianceHere, varianceBase] =
    of === "own" ? [here.ownVariance, base.ownVariance] : [here.totalVariance, base.totalVariance];
  const [countHere, countBase] = of === "own" ? [here.count, base.count] : [here.totalCount, base.totalCount];
  const out = new Float64Array(varianceHere.length);
  for (let i = 0; i < out.length; i++) {
    out[i] =
      countHere[i] + countBase[i] >= FEWEST_SAMPLES
        ? Math.sqrt(varianceHere[i] + scale * scale * varianceBase[i])
        : NaN;
  }
  return out;
}

/**
 * From how many standard errors on a difference is called one (Benjamini and Hochberg);
 * infinite where none is.
 */
export function limit(here: Float64Array, base: Float64Array, scale: number, error: Float64Array): number {
  // What is not even beyond 5 % alone cannot be among many: only the others need an order.
  const beyond: number[] = [];
  let n = 0;
  for (let i = 0; i < here.length; i++) {
    const z = Math.abs((here[i] - base[i] * scale) / error[i]);
    if (!(z < Infinity)) continue;
    n++;
    if (z >= 1.95) beyond.push(z);
  }
  const sizes = Float64Array.from(beyond).sort();
  for (let rank = sizes.length; rank >= 1; rank--) {
    const z = sizes[sizes.length - rank];
    if (twoSided(z) <= (rank / n) * FALSE_DISCOVERIES) return z;
  }
  return Infinity;
}

/**
 * Probability that a normal deviate is at least z from 0: a series near 0, a continued
 * fraction in the tail.
 */
export function twoSided(z: number): number {
  if (z < 2.5) {
    let term = z;
    let sum = z;
    for (let k = 1; k < 60; k++) {
      term *= (-z * z) / (2 * k);
      sum += term / (2 * k + 1);
    }
    return 1 - Math.sqrt(2 / Math.PI) * sum;
  }
  let fraction = z;
  for (let k = 40; k >= 1; k--) fraction = z + k / fraction;
  return (Math.sqrt(2 / Math.PI) * Math.exp((-z * z) / 2)) / fraction;
}
