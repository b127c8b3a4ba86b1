// What of a difference is noise. The same definition as `fathom flame` has (crates/diagnose/src/stacks/compare.rs):
// the larger of two standard errors, by counting (Poisson) and by blocks of time (Cochran's ratio estimator), and a limit
// by Benjamini and Hochberg, so that of the frames called different 5 % may be wrong.

import { lowerBound } from "../decimate";
import type { Chosen } from "./select";
import type { SampleKind } from "./table";

export type Normalisation = "wall" | "share" | "operation";

const FEWEST_SAMPLES = 5;
const FEWEST_BLOCKS = 8;
const MOST_BLOCKS = 32;
const SAMPLES_A_BLOCK = 16;
const FALSE_DISCOVERIES = 0.05;
/** Student's 97.5 % quantiles for 7 to 31 degrees of freedom: one less than there are blocks. */
const STUDENT = [2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11, 2.101, 2.093, 2.086, 2.08, 2.074,
  2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042, 2.04];

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
}

export function addUp(parent: Int32Array, own: Float64Array): Float64Array {
  const total = Float64Array.from(own);
  for (let i = parent.length - 1; i > 0; i--) total[parent[i]] += total[i];
  return total;
}

export function measure(kind: SampleKind, parent: Int32Array, side: Side, by: Normalisation): Measured {
  const n = parent.length;
  const { rows } = side.chosen;
  const own = new Float64Array(n);
  const squares = new Float64Array(n);
  const count = new Float64Array(n);
  for (let k = 0; k < rows.length; k++) {
    const w = kind.weight[rows[k]];
    own[side.ends[k]] += w;
    squares[side.ends[k]] += w * w;
    count[side.ends[k]]++;
  }
  const total = addUp(parent, own);
  const totalSquares = addUp(parent, squares);
  const totalCount = addUp(parent, count);
  const denominator =
    by === "wall" ? side.chosen.coveredNs / 1e9
    : by === "share" ? total[0]
    : side.chosen.ranges.reduce((sum, r) => sum + side.operations(r.from, r.to), 0);
  const oneSample = totalSquares[0] / Math.max(1, totalCount[0]);
  const counted = (weight: Float64Array, square: Float64Array): Float64Array =>
    weight.map((w, i) => {
      let variance = square[i];
      if (by === "share" && total[0] > 0) {
        const share = w / total[0];
        variance = (1 - share) ** 2 * square[i] + share * share * Math.max(0, totalSquares[0] - square[i]);
      }
      return Math.max(variance, oneSample);
    });
  const ownVariance = counted(own, squares);
  const totalVariance = counted(total, totalSquares);
  const blocks = blocksOf(side.chosen);
  if (blocks > 0 && denominator > 0) {
    const between = betweenBlocks(kind, parent, side, by, blocks, denominator, own, total);
    for (let i = 0; i < n; i++) {
      ownVariance[i] = Math.max(ownVariance[i], between.own[i]);
      totalVariance[i] = Math.max(totalVariance[i], between.total[i]);
    }
  }
  return { denominator, own, total, count, totalCount, ownVariance, totalVariance };
}

function blocksOf(chosen: Chosen): number {
  const blocks = Math.min(Math.floor(chosen.rows.length / SAMPLES_A_BLOCK), MOST_BLOCKS);
  return blocks < FEWEST_BLOCKS || chosen.coveredNs < blocks ? 0 : blocks;
}

/** The ends of blocks of equal length, in covered time mapped back to the clock, with each block's ranges. */
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

/** Σ(x − r·d)² is Σx² − 2r·Σxd + r²·Σd², so that a block costs only the nodes that are in it. */
function betweenBlocks(kind: SampleKind, parent: Int32Array, side: Side, by: Normalisation, blocks: number, denominator: number,
  own: Float64Array, total: Float64Array): { own: Float64Array; total: Float64Array } {
  const n = parent.length;
  const { rows } = side.chosen;
  const times = Float64Array.from(rows, (row) => kind.t[row]);
  const sums = { own: new Float64Array(n), ownD: new Float64Array(n), total: new Float64Array(n), totalD: new Float64Array(n) };
  const x = new Float64Array(n);
  const all = new Float64Array(n);
  // Nodes that the block's samples end in, each once.
  const ends = new Int32Array(n);
  let dd = 0;
  let first = 0;
  cut(side.chosen, blocks).forEach((part, b) => {
    const end = b === blocks - 1 ? rows.length : lowerBound(times, part[part.length - 1]?.to ?? 0);
    let weight = 0;
    let leaves = 0;
    for (let k = first; k < end; k++) {
      const w = kind.weight[rows[k]];
      weight += w;
      const leaf = side.ends[k];
      if (x[leaf] === 0 && w > 0) ends[leaves++] = leaf;
      x[leaf] += w;
    }
    first = end;
    const d =
      by === "wall" ? part.reduce((sum, r) => sum + r.to - r.from, 0) / 1e9
      : by === "share" ? weight
      : part.reduce((sum, r) => sum + side.operations(r.from, r.to), 0);
    dd += d * d;
    for (let k = 0; k < leaves; k++) {
      const leaf = ends[k];
      const w = x[leaf];
      sums.own[leaf] += w * w;
      sums.ownD[leaf] += w * d;
      all[leaf] = w;
      x[leaf] = 0;
    }
    // One pass from the leaves up over all nodes costs a fifth of a walk from each leaf to the root.
    for (let node = n - 1; node >= 0; node--) {
      const w = all[node];
      if (w === 0) continue;
      sums.total[node] += w * w;
      sums.totalD[node] += w * d;
      all[node] = 0;
      if (node > 0) all[parent[node]] += w;
    }
  });
  const student = STUDENT[blocks - FEWEST_BLOCKS] ?? 2;
  const widened = ((student / 1.959964) ** 2 * blocks) / (blocks - 1);
  const variance = (xx: Float64Array, xd: Float64Array, weight: Float64Array): Float64Array =>
    xx.map((s, i) => {
      const r = weight[i] / denominator;
      return Math.max(0, s - 2 * r * xd[i] + r * r * dd) * widened;
    });
  return { own: variance(sums.own, sums.ownD, own), total: variance(sums.total, sums.totalD, total) };
}

/** Standard error of each difference; not-a-number where there are too few samples to judge. */
export function errors(here: Measured, base: Measured, scale: number, of: "own" | "total"): Float64Array {
  const [varianceHere, varianceBase] = of === "own" ? [here.ownVariance, base.ownVariance] : [here.totalVariance, base.totalVariance];
  const [countHere, countBase] = of === "own" ? [here.count, base.count] : [here.totalCount, base.totalCount];
  return varianceHere.map((v, i) =>
    countHere[i] + countBase[i] >= FEWEST_SAMPLES ? Math.sqrt(v + scale * scale * varianceBase[i]) : NaN);
}

/** From how many standard errors on a difference is called one (Benjamini and Hochberg); infinite where none is. */
export function limit(here: Float64Array, base: Float64Array, scale: number, error: Float64Array): number {
  const sizes = here.map((w, i) => Math.abs((w - base[i] * scale) / error[i])).filter((z) => Number.isFinite(z)).sort().reverse();
  for (let rank = sizes.length; rank >= 1; rank--) {
    const z = sizes[rank - 1];
    // What is not even beyond 5 % alone cannot be among many.
    if (z < 1.95) continue;
    if (twoSided(z) <= (rank / sizes.length) * FALSE_DISCOVERIES) return z;
  }
  return Infinity;
}

/** Probability that a normal deviate is at least z from 0: a series near 0, a continued fraction in the tail. */
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
