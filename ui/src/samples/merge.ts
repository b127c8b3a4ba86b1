// A method is one node of a flame graph whether it was interpreted, compiled or inlined when it was
// seen: warm-up would otherwise split every path in two.

/** The tree without types. */
export interface Merged {
  /** Node of each typed node. */
  of: Int32Array;
  parent: Int32Array;
  name: Int32Array;
}

/** Parents stand before children, so that theirs are known. */
export function merge(parent: Int32Array, name: Int32Array): Merged {
  const n = parent.length;
  const of = new Int32Array(n);
  const outParent = new Int32Array(n);
  const outName = new Int32Array(n);
  // Open addressing over nodes of the merged tree; at most two thirds full.
  let size = 64;
  while (size < n * 1.5) size *= 2;
  const slots = new Int32Array(size).fill(-1);
  let count = 0;
  for (let i = 0; i < n; i++) {
    const above = parent[i] < 0 ? -1 : of[parent[i]];
    let at = (Math.imul(above + 1, 0x9e3779b1) ^ Math.imul(name[i] + 1, 0x85ebca6b)) >>> 0;
    at = (at ^ (at >>> 15)) & (size - 1);
    for (;;) {
      const node = slots[at];
      if (node < 0) {
        outParent[count] = above;
        outName[count] = name[i];
        slots[at] = count;
        of[i] = count++;
        break;
      }
      if (outParent[node] === above && outName[node] === name[i]) {
        of[i] = node;
        break;
      }
      at = (at + 1) & (size - 1);
    }
  }
  return { of, parent: outParent.slice(0, count), name: outName.slice(0, count) };
}

const RECURSIVE = new WeakMap<Merged, Uint8Array>();

/**
 * Which nodes have their own frame among their callers, 1 each; found once, on a walk that counts
 * the frames above it.
 */
export function recursion(tree: Merged): Uint8Array {
  const known = RECURSIVE.get(tree);
  if (known) return known;
  const { parent, name } = tree;
  const n = parent.length;
  const out = new Uint8Array(n);
  RECURSIVE.set(tree, out);
  // Children of each node and the roots as lists: the first, and each one's next.
  const first = new Int32Array(n + 1).fill(-1);
  const next = new Int32Array(n);
  let frames = 0;
  for (let i = n - 1; i >= 0; i--) {
    next[i] = first[parent[i] + 1];
    first[parent[i] + 1] = i;
    frames = Math.max(frames, name[i] + 1);
  }
  const above = new Int32Array(frames);
  let at = first[0];
  while (at >= 0) {
    if (above[name[at]] > 0) out[at] = 1;
    above[name[at]]++;
    if (first[at + 1] >= 0) {
      at = first[at + 1];
      continue;
    }
    // Up until there is one next to it.
    for (;;) {
      above[name[at]]--;
      if (next[at] >= 0) {
        at = next[at];
        break;
      }
      at = parent[at];
      if (at < 0) return out;
    }
  }
  return out;
}
