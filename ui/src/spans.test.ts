import { describe, expect, it } from "vitest";

import type { SpanLane } from "./model";
import { layout, SpanIndex } from "./spans";

function lane(t0: number[], duration: number[], parts: number[][] = [], rows = [""]): SpanLane {
  const zeros = () => new Float64Array(t0.length);
  return {
    type: "spans",
    id: "x",
    title: "x",
    classes: ["a"],
    rows,
    note: "",
    t0: Float64Array.from(t0),
    duration: Float64Array.from(duration),
    cls: zeros(),
    row: zeros(),
    name: zeros(),
    source: zeros(),
    line: zeros(),
    parts: parts.map((values, i) => ({ name: `part ${i}`, unit: "ns", values: Float64Array.from(values) })),
    facts: [],
    labels: [],
    stack: null,
    thread: null,
  };
}

const fills = (index: SpanIndex, from: number, to: number, pixels: number) => {
  const out: number[][] = [];
  layout(index, from, to, pixels, (x, w, row, cls, part, longest) => out.push([x, w, row, cls, part, longest]));
  return out;
};

describe("the layout of spans", () => {
  it("shows a long span that began before the view", () => {
    const index = new SpanIndex(lane([0, 1, 2], [1000, 1, 1]));
    expect(fills(index, 500, 600, 100)).toEqual([[0, 100, 0, 0, -1, 1000]]);
  });
  it("draws no more than the pixels, whatever the number of spans", () => {
    const n = 200_000;
    const index = new SpanIndex(
      lane(
        Array.from({ length: n }, (_, i) => i),
        new Array<number>(n).fill(0.1),
      ),
    );
    expect(fills(index, 0, n, 300).length).toBeLessThanOrEqual(300);
  });
  it("lets the longest of a pixel decide its height, and neighbours keep theirs", () => {
    const index = new SpanIndex(lane([0, 1, 10], [1, 5, 90]));
    expect(fills(index, 0, 1000, 100)).toEqual([
      [0, 1, 0, 0, -1, 5],
      [1, 9, 0, 0, -1, 90],
    ]);
    expect(index.heightOf(90)).toBe(1);
    expect(index.heightOf(0)).toBe(0.1);
  });
  it("gives an event that has no length a pixel", () => {
    expect(fills(new SpanIndex(lane([50], [0])), 0, 100, 100)).toEqual([[50, 1, 0, 0, -1, 0]]);
  });
  it("cuts a wide span into its parts and a rest, and never past its end", () => {
    const index = new SpanIndex(lane([0], [100], [[20], [30]]));
    expect(fills(index, 0, 100, 100)).toEqual([
      [0, 20, 0, 0, 0, 100],
      [20, 30, 0, 0, 1, 100],
      [50, 50, 0, 0, 2, 100],
    ]);
    const lying = new SpanIndex(lane([0], [100], [[500], [30]]));
    expect(fills(lying, 0, 200, 200)).toEqual([[0, 100, 0, 0, 0, 100]]);
  });
});

describe("pointing", () => {
  it("finds the longest of those under the pointer and counts the others", () => {
    const index = new SpanIndex(lane([0, 5, 6, 90], [1, 3, 50, 1]));
    expect(index.hit(4, 7, 0)).toEqual({ index: 2, others: 1 });
    expect(index.hit(60, 70, 0)).toBeNull();
    expect(index.hit(4, 7, 1)).toBeNull();
  });
  it("lists the longest in order of time", () => {
    const index = new SpanIndex(lane([0, 10, 20, 30], [5, 1, 9, 7]));
    expect(index.longest(0, 100, 2)).toEqual({ indices: [2, 3], total: 4 });
  });
});
