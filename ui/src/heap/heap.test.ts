import { describe, expect, it } from "vitest";

import { expression } from "../flame/search";
import { type HeapPage, OTHERS, SORTS } from "./data";
import { readHeap } from "./decode";
import { LEAST_PX, layout, reading } from "./layout";
import { search } from "./search";
import { labelOf, said } from "./words";

interface Given {
  /** Name, the node above, own bytes, and what is folded: objects and bytes. */
  nodes: [name: string, parent: number, own: number, objects: number, folded?: [objects: number, bytes: number]][];
  /** Steps: the one before, class, edge. */
  steps?: [before: number, name: string, edge: string][];
}

/** A page of a tree, coded as crates/render/src/heap/page.rs does. */
function page({ nodes, steps = [] }: Given): HeapPage {
  const names: string[] = [];
  const texts: string[] = [];
  const id = (list: string[], text: string): number => (list.includes(text) ? list.indexOf(text) : list.push(text) - 1);
  const columns: { as: string; n: number; bytes: number }[] = [];
  const blocks: number[] = [];
  const add = (as: string, values: number[], code: (value: number) => number[]): number => {
    const block = values.flatMap(code);
    blocks.push(...block);
    return columns.push({ as, n: values.length, bytes: block.length }) - 1;
  };
  const varint = (value: number): number[] =>
    value < 128 ? [value] : [(value % 128) + 128, ...varint(Math.floor(value / 128))];
  const small = (values: number[]): number => add("varint", values, varint);
  const delta = (values: number[]): number => {
    let last = 0;
    return add("delta", values, (value) => {
      const step = value - last;
      last = value;
      return varint(step < 0 ? -2 * step - 1 : 2 * step);
    });
  };
  const planes = (values: number[]): number => add("planes", values, (value) => [value]);
  const groups = () => ({
    name: small([]),
    objects: small([]),
    shallow: small([]),
    retained: small([]),
    left_out: 0,
    left_out_objects: 0,
    left_out_shallow: 0,
  });
  const tree = {
    parent: delta(nodes.map(([, parent]) => parent)),
    name: small(nodes.map(([name]) => id(names, name))),
    sort: small(nodes.map((_, i) => Math.min(i, 1))),
    objects: small(nodes.map(([, , , objects]) => objects)),
    chained: small(nodes.map(() => 0)),
    own: small(nodes.map(([, , own]) => own)),
    folded_objects: small(nodes.map(([, , , , folded]) => folded?.[0] ?? 0)),
    folded_classes: small(nodes.map(([, , , , folded]) => (folded ? 2 : 0))),
    folded_bytes: small(nodes.map(([, , , , folded]) => folded?.[1] ?? 0)),
    address: { low: planes(nodes.map((_, i) => i)), high: planes(nodes.map(() => 0xff)) },
    way: small(nodes.map((_, i) => (i > 0 && i <= steps.length ? i : 0))),
  };
  const stepColumns = {
    before: delta(steps.map(([before]) => before)),
    left_out: small(steps.map(() => 0)),
    name: small(steps.map(([, name]) => id(names, name))),
    edge: small(steps.map(([, , edge]) => (edge === "" ? 0 : id(texts, edge) + 1))),
    weak: small(steps.map(() => 0)),
    address: { low: planes(steps.map((_, i) => i)), high: planes(steps.map(() => 1)) },
    root: small(steps.map(([before]) => (before < 0 ? id(texts, "thread that runs") + 1 : 0))),
  };
  const header = new TextEncoder().encode(
    JSON.stringify({
      schema: "fathom.heap-page/1",
      names,
      texts,
      tree,
      steps: stepColumns,
      classes: groups(),
      packages: groups(),
      loaders: groups(),
      columns,
      threads: [
        { name: "main", node: 2 },
        { name: "lost", node: null },
      ],
    }),
  );
  const bytes = new Uint8Array(4 + header.length + blocks.length);
  new DataView(bytes.buffer).setUint32(0, header.length, true);
  bytes.set(header, 4);
  bytes.set(blocks, 4 + header.length);
  return readHeap(bytes);
}

const HEAP = page({
  nodes: [
    ["", -1, 0, 0, [7, 100]],
    ["a.Small", 0, 300, 1],
    ["a.b.Cache", 0, 24, 1],
    ["java.util.HashMap", 2, 48, 1, [3, 28]],
    ["a.b.Cache", 3, 500, 20],
  ],
  steps: [
    [-1, "a.Main", ""],
    [0, "a.b.Cache", ".cache"],
  ],
});

describe("the tree of a dump", () => {
  it("retains in each node what it takes itself, what is folded and what it keeps, to the byte", () => {
    const { tree } = HEAP;
    expect(Array.from(tree.retained)).toEqual([1000, 300, 600, 576, 500, 100, 28]);
    for (let i = 0; i < tree.parent.length; i++) {
      const below = Array.from(tree.child.subarray(tree.first[i], tree.first[i + 1])).reduce(
        (sum, c) => sum + tree.retained[c],
        0,
      );
      if (tree.sort[i] !== OTHERS) expect(tree.own[i] + below).toBe(tree.retained[i]);
    }
  });

  it("has the largest children first and others last", () => {
    const { tree } = HEAP;
    expect(Array.from(tree.child.subarray(tree.first[0], tree.first[1]))).toEqual([2, 1, 5]);
    expect(Array.from(tree.child.subarray(tree.first[3], tree.first[4]))).toEqual([4, 6]);
  });

  it("names addresses beyond 2^32 and ways from their roots", () => {
    expect(HEAP.tree.address(2)).toBe("0xff00000002");
    expect([HEAP.tree.address(0), HEAP.tree.address(5)]).toEqual(["", ""]);
    const way = HEAP.way(HEAP.tree.way[2]);
    expect([way.root, ...way.steps.map((s) => `${s.edge} ${s.class}`)]).toEqual([
      "thread that runs",
      " a.Main",
      ".cache a.b.Cache",
    ]);
  });

  it("is said in words", () => {
    expect(labelOf(HEAP.tree, 4)).toBe("20 × Cache");
    expect(labelOf(HEAP.tree, 5)).toBe("7 others");
    expect(labelOf(HEAP.tree, 2)).toBe('Cache "main"');
    expect(said(HEAP.tree, 4)).toMatch(/^a\.b\.Cache, 20 objects, retains 500.B, 50% of the heap$/);
  });
});

describe("the picture", () => {
  it("puts children within the box above, and draws what is too narrow as one", () => {
    const { tree } = HEAP;
    const boxes = layout(tree, 0, 100);
    const byNode = new Map(boxes.filter((b) => b.smaller === 0).map((b) => [b.node, b]));
    for (const box of boxes.slice(1)) {
      const up = byNode.get(box.smaller > 0 ? box.node : tree.parent[box.node]);
      expect(up && box.x >= up.x - 1e-9 && box.x + box.w <= up.x + up.w + 1e-9 && box.row === up.row + 1).toBe(true);
    }
    // 28 of 1000 are less than four pixels of 100.
    expect((28 / 1000) * 100).toBeLessThan(LEAST_PX);
    expect(boxes.filter((b) => b.smaller > 0).map((b) => [b.node, b.smaller])).toEqual([[3, 1]]);
  });

  it("fills the width with what is zoomed, and is read from above, the largest first", () => {
    const order = reading(HEAP.tree, layout(HEAP.tree, 0, 1000)).map((b) => b.node);
    expect(order).toEqual([0, 2, 3, 4, 6, 1, 5]);
    expect(layout(HEAP.tree, 3, 1000)[0]).toMatchObject({ node: 3, x: 0, w: 1, row: 0 });
  });
});

describe("search", () => {
  it("counts what matching boxes retain once, however they keep one another", () => {
    const pattern = expression("cache$") as RegExp;
    expect(search(HEAP.tree, pattern)).toMatchObject({ retained: 600, inside: 2, objects: 21, nodes: [2, 4] });
    expect(search(HEAP.tree, pattern, 3)).toMatchObject({ retained: 500, inside: 1, nodes: [2, 4] });
    expect(search(HEAP.tree, /others/).nodes).toEqual([]);
  });

  it("knows as many sorts as are written", () => expect(SORTS.length).toBe(8));
});
