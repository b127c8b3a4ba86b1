// The same samples from the other end: first what ran, below it who called it.

import { type FlameBase, type FlameData, type FlameMix, FRAME_TYPES } from "./data";

/**
 * Callers of what took less than this share are not drawn out: nobody sees a tenth of a pixel, and
 * a tree of a million nodes would become one of fifty million.
 */
const SMALLEST_SHARE = 1 / 20_000;

const GROUP = FRAME_TYPES.indexOf("group");

class Column {
  values = new Float64Array(1024);
  add(length: number, value: number): void {
    if (length > this.values.length) {
      const larger = new Float64Array(this.values.length * 2);
      larger.set(this.values);
      this.values = larger;
    }
    this.values[length - 1] = value;
  }
}

/**
 * The callers' tree: a node's total is what its leaf took on the way through it, and all of a
 * root's children are leaves of the given tree. Standard errors add up as those of
 * independent samples.
 */
export function invert(data: FlameData): FlameData {
  const { parent, name, type, self, base, mix } = data;
  const n = parent.length;
  const scale = base?.scale ?? 1;
  const weigh = (i: number): number => self[i] + (base ? base.self[i] * scale : 0);
  const ownMix = mix ? ownShares(data, mix) : null;
  const origins: number[] = [];
  let whole = 0;
  for (let i = 1; i < n; i++) {
    if (weigh(i) > 0) {
      origins.push(i);
      whole += weigh(i);
    }
  }
  const outParent: number[] = [-1];
  const outName: number[] = [name[0]];
  const outType: number[] = [type[0]];
  const totalColumn = new Column();
  const baseColumn = new Column();
  const errorColumn = new Column();
  const mixColumns = [new Column(), new Column(), new Column(), new Column()];
  const put = (items: number[]): void => {
    const length = outParent.length;
    let [total, baseTotal, variance] = [0, 0, 0];
    const mixed = [0, 0, 0, 0];
    for (const i of items) {
      total += self[i];
      if (base) {
        baseTotal += base.self[i];
        if (Number.isFinite(base.selfError[i])) variance += base.selfError[i] ** 2;
      }
      ownMix?.forEach((column, k) => (mixed[k] += column[i]));
    }
    totalColumn.add(length, total);
    baseColumn.add(length, baseTotal);
    errorColumn.add(length, variance > 0 ? Math.sqrt(variance) : NaN);
    mixed.forEach((value, k) => mixColumns[k].add(length, value));
  };
  put(origins);
  // Level by level: every group of samples that share their last frames is
  // divided by the next caller.
  let level: { node: number; items: number[]; cursors: number[] }[] = [{ node: 0, items: origins, cursors: origins }];
  while (level.length > 0) {
    const next: typeof level = [];
    for (const { node, items, cursors } of level) {
      const groups = new Map<number, { items: number[]; cursors: number[]; weight: number }>();
      for (let k = 0; k < items.length; k++) {
        const at = cursors[k];
        if (at <= 0) continue; // The root is nobody's caller.
        let group = groups.get(name[at]);
        if (!group) groups.set(name[at], (group = { items: [], cursors: [], weight: 0 }));
        group.items.push(items[k]);
        group.cursors.push(at);
        group.weight += weigh(items[k]);
      }
      for (const [id, group] of groups) {
        outParent.push(node);
        outName.push(id);
        outType.push(heaviestType(group.cursors, group.items, type, weigh));
        put(group.items);
        if (group.weight >= whole * SMALLEST_SHARE) {
          next.push({ node: outParent.length - 1, items: group.items, cursors: group.cursors.map((at) => parent[at]) });
        }
      }
    }
    level = next;
  }
  const length = outParent.length;
  const total = totalColumn.values.slice(0, length);
  const outParents = Int32Array.from(outParent);
  const outBase: FlameBase | null = base && {
    ...base,
    total: baseColumn.values.slice(0, length),
    self: ends(outParents, baseColumn.values.slice(0, length)),
    totalError: errorColumn.values.slice(0, length),
    selfError: new Float64Array(length).fill(NaN),
    totalLimit: base.selfLimit,
  };
  const outMix: FlameMix | null = mix && {
    interpreted: mixColumns[0].values.slice(0, length),
    c1: mixColumns[1].values.slice(0, length),
    c2: mixColumns[2].values.slice(0, length),
    inlined: mixColumns[3].values.slice(0, length),
  };
  return {
    ...data,
    parent: outParents,
    name: Int32Array.from(outName),
    type: Uint8Array.from(outType),
    total,
    self: ends(outParents, total),
    mix: outMix,
    recursive: null,
    base: outBase,
  };
}

/**
 * What of each node's own weight was of each kind of Java; a leaf is of the kind that its totals
 * are beyond its children's.
 */
function ownShares(data: FlameData, mix: FlameMix): Float64Array[] {
  return [mix.interpreted, mix.c1, mix.c2, mix.inlined].map((column, k) =>
    // Totals of one kind over a subtree are not additive (a caller may be of another kind), so a
    // leaf's own weight goes to its kinds in the shares that the node's total has.
    column.map((value, i) =>
      data.type[i] < 4 && data.total[i] > 0
        ? (data.self[i] * value) / data.total[i]
        : k === data.type[i]
          ? data.self[i]
          : 0,
    ),
  );
}

function heaviestType(cursors: number[], items: number[], type: Uint8Array, weigh: (i: number) => number): number {
  const first = type[cursors[0]];
  if (cursors.every((at) => type[at] === first)) return first;
  const weights = new Float64Array(GROUP + 1);
  cursors.forEach((at, k) => (weights[type[at]] += weigh(items[k])));
  return weights.indexOf(Math.max(...weights));
}

/** What of each node's total does not go on to a child. */
function ends(parent: Int32Array, total: Float64Array): Float64Array {
  const self = Float64Array.from(total);
  for (let i = 1; i < parent.length; i++) self[parent[i]] -= total[i];
  return self.map((v) => Math.max(0, v));
}
