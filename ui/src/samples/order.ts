// Stacks in order of time: for each pixel column the stack that took most, neighbours with
// the same frames joined.

import type { Range } from "../view";
import { choose, type ThreadFilter } from "./select";
import type { SampleTable } from "./table";

/** Boxes of one depth: `[x, x + width)` in columns, a node of the merged tree. */
export interface Box {
  x: number;
  width: number;
  depth: number;
  node: number;
}

export interface Order {
  boxes: Box[];
  depth: number;
  /** Typed node that took most in each column, -1 where there is no sample. */
  leaf: Int32Array;
}

export function order(
  table: SampleTable,
  kind: number,
  ranges: Range[],
  threads: ThreadFilter,
  columns: number,
): Order {
  const samples = table.kinds[kind];
  const chosen = choose(samples, ranges, threads);
  const leaf = new Int32Array(columns).fill(-1);
  const { rows, coveredNs } = chosen;
  const perColumn = coveredNs / columns;
  // Place in covered time: ranges are put side by side.
  const starts: number[] = [];
  let covered = 0;
  for (const range of chosen.ranges) {
    starts.push(covered);
    covered += range.to - range.from;
  }
  const sums = new Map<number, number>();
  let at = 0;
  let range = 0;
  const columnOf = (row: number): number => {
    while (range + 1 < chosen.ranges.length && samples.t[row] >= chosen.ranges[range + 1].from) range++;
    return Math.min(columns - 1, Math.floor((starts[range] + samples.t[row] - chosen.ranges[range].from) / perColumn));
  };
  while (at < rows.length) {
    const column = columnOf(rows[at]);
    sums.clear();
    do {
      const node = samples.node[rows[at]];
      if (node > 0) sums.set(node - 1, (sums.get(node - 1) ?? 0) + samples.weight[rows[at]]);
      at++;
    } while (at < rows.length && columnOf(rows[at]) === column);
    let best = 0;
    for (const [node, weight] of sums) {
      if (weight > best) {
        best = weight;
        leaf[column] = node;
      }
    }
  }
  return { leaf, ...joined(table, leaf) };
}

function joined(table: SampleTable, leaf: Int32Array): { boxes: Box[]; depth: number } {
  const { merged } = table.stacks;
  const boxes: Box[] = [];
  const open: Box[] = [];
  let deepest = 0;
  for (let x = 0; x <= leaf.length; x++) {
    const path: number[] = [];
    if (x < leaf.length && leaf[x] >= 0)
      for (let node = merged.of[leaf[x]]; node >= 0; node = merged.parent[node]) path.push(node);
    path.reverse();
    deepest = Math.max(deepest, path.length);
    let same = 0;
    while (same < path.length && same < open.length && open[same].node === path[same]) same++;
    for (const box of open.splice(same)) {
      box.width = x - box.x;
      boxes.push(box);
    }
    for (let depth = same; depth < path.length; depth++) open.push({ x, width: 0, depth, node: path[depth] });
  }
  return { boxes, depth: deepest };
}
