import { expect, test } from "vitest";

import { cell, folded, speedscope } from "./export";
import type { FlameData } from "./flame/data";

/** all → main → {work: 30, "a;b": 12}, with 5 of main itself. */
const data: FlameData = {
  kind: "cpu",
  unit: "ns",
  samples: 4,
  label: "1 s – 2 s",
  names: ["main", "work", "a;b", "all"],
  modules: ["", "libx.so", "", ""],
  parent: Int32Array.from([-1, 0, 1, 1]),
  name: Int32Array.from([3, 0, 1, 2]),
  type: new Uint8Array(4),
  self: Float64Array.from([0, 5, 30, 12]),
  total: Float64Array.from([47, 47, 30, 12]),
  mix: null,
  base: null,
  notes: [],
};

test("folded stacks stand root first, and a separator within a name is none", () => {
  expect(folded(data).join("")).toBe("main 5\nmain;work 30\nmain;a,b 12\n");
});

test("speedscope's file has the weights of the graph and says their unit", () => {
  const file = JSON.parse(speedscope(data, "9").join(""));
  expect(file.shared.frames).toEqual([{ name: "main" }, { name: "work", file: "libx.so" }, { name: "a;b" }]);
  expect(file.profiles[0]).toMatchObject({
    type: "sampled",
    unit: "nanoseconds",
    endValue: 47,
    samples: [[0], [0, 1], [0, 2]],
    weights: [5, 30, 12],
  });
});

test("a cell of a table is quoted where it must be and is never a formula", () => {
  expect([cell("a,b"), cell('say "x"'), cell("=1+1"), cell(Number.NaN), cell(3)]).toEqual([
    '"a,b"',
    '"say ""x"""',
    "'=1+1",
    "",
    "3",
  ]);
});
