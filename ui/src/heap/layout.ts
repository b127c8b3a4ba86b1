// Which boxes are drawn, and where: the zoomed node in the first row, what it keeps below it. Boxes
// that would be too narrow to be seen or pointed at are drawn as one, "smaller ones".

import type { HeapTree } from "./data";

/** Narrower boxes are not drawn one by one, CSS pixels. */
export const LEAST_PX = 4;
/** More boxes than this nobody can distinguish; the widest are drawn. */
const MOST_BOXES = 3000;

export interface Box {
  /** The node; of smaller ones, the node that keeps them. */
  node: number;
  /** Shares of the width. */
  x: number;
  w: number;
  row: number;
  /** How many nodes are too narrow, where this box stands for them; else 0. */
  smaller: number;
}

/** Boxes, each behind the one above it. `width` is in CSS pixels. */
export function layout(tree: HeapTree, root: number, width: number): Box[] {
  const whole = tree.retained[root];
  const boxes: Box[] = [{ node: root, x: 0, w: 1, row: 0, smaller: 0 }];
  if (!(whole > 0) || !(width > 0)) return boxes;
  // Row by row, so that a limit cuts what is deepest.
  for (let at = 0; at < boxes.length && boxes.length < MOST_BOXES; at++) {
    const { node, x, row, smaller } = boxes[at];
    if (smaller > 0) continue;
    let left = x;
    let rest = 0;
    let count = 0;
    for (let c = tree.first[node]; c < tree.first[node + 1]; c++) {
      const child = tree.child[c];
      const w = tree.retained[child] / whole;
      if (w * width < LEAST_PX) {
        rest += w;
        count++;
        continue;
      }
      boxes.push({ node: child, x: left, w, row: row + 1, smaller: 0 });
      left += w;
    }
    if (rest * width >= 1) boxes.push({ node, x: left, w: rest, row: row + 1, smaller: count });
  }
  return boxes;
}

/** Boxes in the order in which they are read: each before what it keeps. */
export function reading(tree: HeapTree, boxes: Box[]): Box[] {
  const below = new Map<number, Box[]>();
  for (const box of boxes.slice(1)) {
    const parent = box.smaller > 0 ? box.node : tree.parent[box.node];
    const list = below.get(parent);
    if (list) list.push(box);
    else below.set(parent, [box]);
  }
  const out: Box[] = [];
  const open = boxes.slice(0, 1);
  while (open.length > 0) {
    const box = open.pop() as Box;
    out.push(box);
    if (box.smaller === 0) open.push(...(below.get(box.node) ?? []).slice().reverse());
  }
  return out;
}
