// Where each node lies. Children stand side by side in the order of their names, so that two
// graphs of one program look alike; positions are in the unit of the weights, and the painter
// turns them into pixels.

import type { FlameData } from "./data";

export interface Layout {
  /** Children of node i are `child[first[i] .. first[i + 1]]`, in drawing order. */
  first: Int32Array;
  child: Int32Array;
  /** Left edge and width, in the unit of the weights. */
  x: Float64Array;
  width: Float64Array;
  depth: Int32Array;
}

/** Which side of a comparison the widths are of. */
export type Side = "here" | "base";

export function layout(data: FlameData, side: Side = "here"): Layout {
  const { parent } = data;
  const n = parent.length;
  const scale = data.base?.scale ?? 1;
  const width = side === "base" && data.base ? data.base.total.map((v) => v * scale) : data.total;
  const { first, child } = children(data);
  const x = new Float64Array(n);
  const depth = new Int32Array(n);
  for (let i = 0; i < n; i++) {
    if (i > 0) depth[i] = depth[parent[i]] + 1;
    let at = x[i];
    for (let c = first[i]; c < first[i + 1]; c++) {
      x[child[c]] = at;
      at += width[child[c]];
    }
  }
  return { first, child, x, width, depth };
}

const RANKS = new WeakMap<string[], Int32Array>();

/** Place of each name in their order, found once for all graphs of the same names. */
function ranks(names: string[]): Int32Array {
  let rank = RANKS.get(names);
  if (!rank) {
    RANKS.set(names, (rank = new Int32Array(names.length)));
    const order = names.map((_, i) => i).sort((a, b) => (names[a] < names[b] ? -1 : names[a] > names[b] ? 1 : a - b));
    for (let at = 0; at < order.length; at++) rank[order[at]] = at;
  }
  return rank;
}

/**
 * Children of each node, sorted by name: two counting sorts in plain loops, because a graph may
 * have a million nodes.
 */
function children(data: FlameData): { first: Int32Array; child: Int32Array } {
  const { parent, name, names } = data;
  const n = parent.length;
  const rank = ranks(names);
  const at = new Int32Array(names.length + 1);
  for (let i = 0; i < n; i++) at[rank[name[i]] + 1]++;
  for (let k = 0; k < names.length; k++) at[k + 1] += at[k];
  const byName = new Int32Array(n);
  for (let i = 0; i < n; i++) byName[at[rank[name[i]]]++] = i;
  // The root is nobody's child.
  const first = new Int32Array(n + 1);
  for (let i = 1; i < n; i++) first[parent[i] + 1]++;
  for (let i = 0; i < n; i++) first[i + 1] += first[i];
  const next = first.slice();
  const child = new Int32Array(Math.max(0, n - 1));
  for (let k = 0; k < n; k++) {
    const i = byName[k];
    if (i > 0) child[next[parent[i]]++] = i;
  }
  return { first, child };
}

/**
 * The node at a place: `value` is across, in the unit of the weights from the
 * whole graph's left edge.
 */
export function nodeAt(laid: Layout, root: number, path: number[], value: number, depth: number): number | null {
  if (depth < laid.depth[root]) return path[depth] ?? null;
  let node = root;
  while (laid.depth[node] < depth) {
    let low = laid.first[node];
    let high = laid.first[node + 1] - 1;
    let found = -1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const candidate = laid.child[middle];
      if (value < laid.x[candidate]) high = middle - 1;
      else if (value >= laid.x[candidate] + laid.width[candidate]) low = middle + 1;
      else {
        found = candidate;
        break;
      }
    }
    if (found < 0) return null;
    node = found;
  }
  return node;
}

/** The nodes from the root down to a node, both included. */
export function pathTo(data: Pick<FlameData, "parent">, node: number): number[] {
  const path: number[] = [];
  for (let i = node; i >= 0; i = data.parent[i]) path.push(i);
  return path.reverse();
}

/** The next box of the same row below the same caller, to either side. */
export function neighbour(data: FlameData, laid: Layout, node: number, direction: 1 | -1): number | null {
  const up = data.parent[node];
  if (up < 0) return null;
  const siblings = Array.from(laid.child.subarray(laid.first[up], laid.first[up + 1])).filter((c) => laid.width[c] > 0);
  return siblings[siblings.indexOf(node) + direction] ?? null;
}

/** The widest box below one. */
export function widest(laid: Layout, node: number): number | null {
  let best: number | null = null;
  for (let c = laid.first[node]; c < laid.first[node + 1]; c++) {
    const child = laid.child[c];
    if (laid.width[child] > 0 && (best === null || laid.width[child] > laid.width[best])) best = child;
  }
  return best;
}
