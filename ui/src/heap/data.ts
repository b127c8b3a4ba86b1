// What the page of a heap dump is drawn from: the dominator tree by class in typed arrays, the ways
// from the roots, tables. Written by crates/render/src/heap/page.rs.

import { type Header, SORTS as WRITTEN_SORTS } from "../generated/heap";

/**
 * Sorts of nodes, in the order of their codes. The last is made here: what is
 * too small to be a node.
 */
export const SORTS = [...WRITTEN_SORTS, "others"] as const;
export type Sort = (typeof SORTS)[number];
export const OTHERS = SORTS.indexOf("others");

export interface HeapTree {
  names: string[];
  /** The node above, -1 for the top, which is the first; parents stand before their children. */
  parent: Int32Array;
  /** Name id; the class, or "class C". */
  name: Int32Array;
  /** Code of `SORTS`. */
  sort: Uint8Array;
  depth: Int32Array;
  /** Objects of the node, and how many of them are kept by others of them. */
  objects: Float64Array;
  chained: Float64Array;
  /** How many classes the objects have, where they are "others"; else 0. */
  classes: Float64Array;
  /** Bytes of the objects themselves, and bytes that would go with them. */
  own: Float64Array;
  retained: Float64Array;
  /** Children of node i are `child[first[i] .. first[i + 1]]`, the largest first, others last. */
  first: Int32Array;
  child: Int32Array;
  /** The largest of the objects, "" where there is no single one. */
  address: (node: number) => string;
  /** Names of the threads that are nodes by themselves, by node. */
  threads: Map<number, string>;
  /** The last step of the way to it; -1: it has none of its own. */
  way: Int32Array;
}

/** A step of a way, as it is read. */
export interface Step {
  class: string;
  address: string;
  /** ".sessions", "[17]"; "" where it is not known. */
  edge: string;
  /** Through the referent of a soft, weak, phantom or final reference. */
  weak: boolean;
  /** Steps before it that are left out. */
  leftOut: number;
}

export interface Way {
  /** Why the first object is held. */
  root: string;
  steps: Step[];
}

export interface Group {
  name: string;
  objects: number;
  shallow: number;
  retained: number;
}

export interface Groups {
  rows: Group[];
  leftOut: number;
  leftOutObjects: number;
  leftOutShallow: number;
}

/** What is handed on as it stands in the header. */
type Described = Omit<Header, "schema" | "names" | "texts" | "tree" | "steps" | "classes" | "packages" | "loaders">;

export interface HeapPage extends Described {
  tree: HeapTree;
  /** The way that ends with a step. */
  way: (step: number) => Way;
  classes: Groups;
  packages: Groups;
  loaders: Groups;
}

/**
 * Children of each node, the largest first and others behind them: sorted once, as nothing changes.
 */
export function children(
  parent: Int32Array,
  retained: Float64Array,
  sort: Uint8Array,
): { first: Int32Array; child: Int32Array } {
  const n = parent.length;
  const order = Array.from({ length: n }, (_, i) => i).slice(1);
  const last = (i: number): number => Number(sort[i] === OTHERS);
  order.sort((a, b) => parent[a] - parent[b] || last(a) - last(b) || retained[b] - retained[a] || a - b);
  const first = new Int32Array(n + 1);
  for (let i = 1; i < n; i++) first[parent[i] + 1]++;
  for (let i = 0; i < n; i++) first[i + 1] += first[i];
  return { first, child: Int32Array.from(order) };
}
