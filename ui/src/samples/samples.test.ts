import { describe, expect, it } from "vitest";

import { change, FRAME_TYPES } from "../flame/data";
import { aggregate, type Query } from "./aggregate";
import { merge, recursion } from "./merge";
import { order } from "./order";
import { choose, tidy } from "./select";
import { cut, limit, twoSided } from "./significance";
import type { SampleTable } from "./table";

const type = (name: string): number => (FRAME_TYPES as readonly string[]).indexOf(name);

/** A table from stacks "main:C2;work:C1" and samples [time, stack, thread, weight]. */
function table(
  stacks: string[],
  samples: [number, number, number, number][],
  threads = ["http-1", "http-2"],
): SampleTable {
  const names: string[] = [];
  const parent: number[] = [];
  const name: number[] = [];
  const types: number[] = [];
  const known = new Map<string, number>();
  const leaves = stacks.map((stack) => {
    let at = -1;
    for (const frame of stack.split(";")) {
      const [text, kind = "native"] = frame.split(":");
      if (!names.includes(text)) names.push(text);
      const key = `${at}/${frame}`;
      if (!known.has(key)) {
        parent.push(at);
        name.push(names.indexOf(text));
        types.push(type(kind));
        known.set(key, parent.length - 1);
      }
      at = known.get(key) as number;
    }
    return at + 1;
  });
  const [p, n] = [Int32Array.from(parent), Int32Array.from(name)];
  const all = [...names, ...threads, "no thread known", "all"];
  return {
    threads: threads.map((text) => ({ name: text, tid: null, process: "p", role: "app" })),
    stacks: {
      names: all,
      modules: all.map(() => ""),
      frameNames: names.length,
      parent: p,
      name: n,
      type: Uint8Array.from(types),
      merged: merge(p, n),
    },
    kinds: [
      {
        kind: "cpu",
        unit: "ns",
        samples: samples.length,
        note: "",
        t: Float64Array.from(samples, (s) => s[0]),
        node: Int32Array.from(samples, (s) => (s[1] < 0 ? 0 : leaves[s[1]])),
        thread: Int32Array.from(samples, (s) => s[2]),
        weight: Float64Array.from(samples, (s) => s[3]),
      },
    ],
  };
}

const ASK: Query = {
  kind: 0,
  windows: [{ from: 0, to: 100 }],
  base: [],
  threads: null,
  perThread: false,
  normalisation: "wall",
  operations: () => 0,
  label: "",
  baseLabel: "",
};

const paths = (data: ReturnType<typeof aggregate>): Record<string, number> => {
  const out: Record<string, number> = {};
  for (let i = 0; i < data.parent.length; i++) {
    const path: string[] = [];
    for (let at = i; at >= 0; at = data.parent[at]) path.unshift(data.names[data.name[at]]);
    out[path.join(";")] = data.total[i];
  }
  return out;
};

describe("the call tree of a window", () => {
  const some = table(
    ["main:C2;work:C1", "main:C2;work:interpreted", "main:C2"],
    [
      [1, 0, 1, 10],
      [2, 1, 2, 5],
      [3, 2, 1, 1],
      [50, -1, 0, 7],
      [200, 0, 1, 99],
    ],
  );
  it("takes the samples of the window, and a method is one box whatever it was compiled to", () => {
    const data = aggregate(some, ASK);
    expect(paths(data)).toEqual({ all: 23, "all;main": 16, "all;main;work": 15 });
    expect(data.samples).toBe(4);
    expect([data.mix?.c1[2], data.mix?.interpreted[2], data.type[2]]).toEqual([10, 5, type("C1")]);
    expect(data.parent.every((p, i) => p < i)).toBe(true);
  });
  it("is of the chosen threads, or divided by thread", () => {
    expect(aggregate(some, { ...ASK, threads: Uint8Array.from([0, 1, 0]) }).total[0]).toBe(11);
    expect(paths(aggregate(some, { ...ASK, perThread: true }))).toEqual({
      all: 23,
      "all;http-1": 11,
      "all;http-1;main": 11,
      "all;http-1;main;work": 10,
      "all;http-2": 5,
      "all;http-2;main": 5,
      "all;http-2;main;work": 5,
      "all;no thread known": 7,
    });
  });
  it("of a window without samples is a root alone", () => {
    expect(
      aggregate(some, { ...ASK, windows: [{ from: 300, to: 400 }], base: [{ from: 0, to: 100 }] }).parent.length,
    ).toBeGreaterThan(0);
    expect(aggregate(some, { ...ASK, windows: [{ from: 300, to: 400 }] }).total[0]).toBe(0);
  });
});

describe("the comparison with a base", () => {
  // 1000 samples in either half; "grew" takes a fifth of the first and two fifths of the second,
  // "same" a half of both.
  const samples: [number, number, number, number][] = [];
  for (let i = 0; i < 2000; i++) {
    const grew = i < 1000 ? i % 10 < 2 : i % 10 < 4;
    samples.push([i, grew ? 0 : i % 10 >= 5 ? 1 : 2, 1, 1]);
  }
  samples.push([1999, 3, 1, 1]);
  const both = table(["main;grew", "main;same", "main;rest", "main;once"], samples);
  const data = aggregate(both, { ...ASK, windows: [{ from: 1000, to: 2000 }], base: [{ from: 0, to: 1000 }] });
  const node = (text: string): number => Array.from(data.name).findIndex((id) => data.names[id] === text);
  it("calls what grew more, and what did not noise, and does not judge what was seen once", () => {
    expect(change(data, node("grew"), "total")?.verdict).toBe("more");
    expect(change(data, node("same"), "total")?.verdict).toBe("noise");
    expect(change(data, node("rest"), "self")?.verdict).toBe("less");
    expect(change(data, node("once"), "total")).toMatchObject({ verdict: "too-few", added: true });
    expect(data.base?.total[0]).toBe(1000);
  });
  it("scales by time, by share or by operations", () => {
    const scale = (normalisation: Query["normalisation"]) =>
      aggregate(both, {
        ...ASK,
        windows: [{ from: 1500, to: 2000 }],
        base: [{ from: 0, to: 1000 }],
        normalisation,
        operations: (a, b) => (b - a) * (a < 1000 ? 1 : 3),
      }).base?.scale;
    expect(scale("wall")).toBeCloseTo(0.5);
    expect(scale("share")).toBeCloseTo(501 / 1000);
    expect(scale("operation")).toBeCloseTo(1.5);
  });
});

describe("significance", () => {
  it("knows the tail of the normal distribution", () => {
    for (const [z, p] of [
      [0, 1],
      [1, 0.317310508],
      [1.959963985, 0.05],
      [3, 0.002699796],
      [5, 5.733031e-7],
    ])
      expect(twoSided(z) / p).toBeCloseTo(1, 6);
  });
  it("sets the limit of Benjamini and Hochberg", () => {
    const z = [0.3, 2.6, 1.1, 4, 0.2, 3.1, 0.9, 2, 0.1, 0.5];
    const ones = new Float64Array(z.length).fill(1);
    expect(limit(Float64Array.from(z), new Float64Array(z.length), 1, ones)).toBe(2.6);
    expect(limit(Float64Array.from([0.3, NaN]), new Float64Array(2), 1, ones)).toBe(Infinity);
  });
  it("cuts windows into blocks of equal length, over gaps too", () => {
    const ranges = [
      { from: 0, to: 10 },
      { from: 20, to: 40 },
    ];
    const blocks = cut({ rows: new Int32Array(0), ranges, coveredNs: 30 }, 4);
    expect(blocks[1]).toEqual([
      { from: 7.5, to: 10 },
      { from: 20, to: 25 },
    ]);
  });
});

describe("the choice of samples", () => {
  it("joins ranges that overlap, so that no sample counts twice", () => {
    expect(
      tidy([
        { from: 5, to: 9 },
        { from: 0, to: 6 },
        { from: 20, to: 20 },
      ]),
    ).toEqual([{ from: 0, to: 9 }]);
    const one = table(
      ["a"],
      [
        [1, 0, 1, 1],
        [5, 0, 1, 1],
        [8, 0, 1, 1],
      ],
    );
    expect(
      Array.from(
        choose(
          one.kinds[0],
          [
            { from: 0, to: 6 },
            { from: 4, to: 8 },
          ],
          null,
        ).rows,
      ),
    ).toEqual([0, 1]);
  });
});

describe("frames that call themselves", () => {
  it("are distinct from those above them, on every path", () => {
    // a → b → a → c, a → b → b, and a root b of its own with a below it.
    const tree = merge(Int32Array.from([-1, 0, 1, 2, 1, -1, 5, 6]), Int32Array.from([0, 1, 0, 2, 1, 1, 0, 1]));
    expect(Array.from(recursion(tree))).toEqual([0, 0, 1, 0, 1, 0, 0, 1]);
  });
});

describe("stacks in order of time", () => {
  it("joins neighbours with the same callers and leaves gaps where nothing was seen", () => {
    const some = table(
      ["main;a", "main;b"],
      [
        [0, 0, 1, 1],
        [10, 1, 1, 1],
        [11, 0, 1, 5],
        [30, 0, 1, 1],
      ],
    );
    const laid = order(some, 0, [{ from: 0, to: 40 }], null, 4);
    expect(laid.boxes.map((b) => [b.x, b.width, b.depth]).sort()).toEqual([
      [0, 2, 0],
      [0, 2, 1],
      [3, 1, 0],
      [3, 1, 1],
    ]);
    expect(laid.depth).toBe(2);
  });
});
