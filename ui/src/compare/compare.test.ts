import { describe, expect, it } from "vitest";
import { COMPARE_SCHEMA, type Measure } from "../generated/compare";
import { chance, figure, interval, judged, ledger, ratio, sections, signed } from "./figures";
import { readPage } from "./model";
import { groups, jitter, ratioScale, scale } from "./scale";

const measure = (id: string, name: string, first: number, second: number, differs = false): Measure => ({
  id,
  name,
  unit: "ms/op",
  first,
  second,
  differs,
  held: { first, second, ratio: null, difference: [second - first - 0.1, second - first + 0.1], p_value: 0.01 },
});

describe("figures", () => {
  it("write what one operation takes in its own unit", () => {
    expect(figure(0.0038, "ms/op")).toBe("3.80\u202fµs/op");
    expect(figure(0.000_12, "ms/op")).toBe("120\u202fns/op");
    expect(figure(0, "ms/op")).toBe("0/op");
    expect(figure(12, "count")).toBe("12");
    expect(figure(1234.5, "1/s")).toBe("1,235/s");
    expect(figure(0.0125, "1/op")).toBe("0.0125/op");
  });

  it("say what is not known", () => {
    expect(figure(null, "ms")).toBe("not known");
    expect(interval(null, "ms")).toBe("not known");
    expect([chance(null), chance(0.000_01), chance(0.0312)]).toEqual(["not known", "< 0.0001", "0.0312"]);
    expect([ratio(null), ratio(1.04512)]).toEqual(["–", "1.045"]);
  });

  it("have a sign where they are differences, and points where they are of shares", () => {
    expect(signed(-0.25, "share")).toBe("−25.00 points");
    expect(signed(2, "ms")).toBe("+2.00\u202fms");
  });
});

describe("sections", () => {
  it("take each figure once, and leave those of the ledger", () => {
    const all = [
      "throughput",
      "gc.total",
      "calls.system.read",
      "syscalls.read",
      "calls.dns.count",
      "locks.park.time",
      "ledger.x.y",
      "threads.collector",
    ];
    const found = sections(all.map((id) => measure(id, id, 1, 1)));
    const taken = found.flatMap((section) => section.measures.map((m) => m.id));
    expect(taken.toSorted()).toEqual(all.filter((id) => !id.startsWith("ledger")).toSorted());
    expect(found.find((s) => s.id === "syscalls")?.measures.map((m) => m.id)).toEqual([
      "calls.system.read",
      "syscalls.read",
    ]);
  });

  it("put together what one group of threads spent, what differs first", () => {
    const [first, second] = ledger([
      measure("ledger.a.x", "compilers: running", 5, 1),
      measure("ledger.b.x", "application: running", 1, 2, true),
      measure("ledger.b.y", "application: idle", 9, 3),
    ]);
    expect([first.name, first.first, first.second]).toEqual(["application", 10, 5]);
    expect(first.rows.map((row) => row.name)).toEqual(["running", "idle"]);
    expect(second.name).toBe("compilers");
  });

  it("call nothing tested that was not", () => {
    const plain = measure("x", "x", 1, 2);
    expect([judged(plain), judged({ ...plain, differs: true }), judged({ ...plain, held: null })]).toEqual([
      "within what varies",
      "differs",
      "no test",
    ]);
  });
});

describe("scales", () => {
  it("hold all values, also of one alone", () => {
    const to = scale([3, 5, 4], 100);
    expect(to.at(3)).toBeGreaterThan(0);
    expect(to.at(5)).toBeLessThan(100);
    expect(to.at(4)).toBeCloseTo(50);
    expect(Number.isFinite(scale([2, 2], 100).at(2))).toBe(true);
    expect(Number.isFinite(scale([], 100).at(2))).toBe(true);
  });

  it("put half and double as far from 1", () => {
    const to = ratioScale([0.5, 2], 100);
    expect(to.at(1) - to.at(0.5)).toBeCloseTo(to.at(2) - to.at(1));
    expect(ratioScale([0.01, 100], 300).ticks.length).toBeLessThan(10);
    expect(ratioScale([Infinity, NaN, 1.1], 100).at(1.1)).toBeLessThan(100);
  });

  it("put points of a row next to each other, always the same", () => {
    const all = Array.from({ length: 50 }, (_, n) => jitter(n));
    expect(all.every((y) => y >= -1 && y <= 1)).toBe(true);
    expect(new Set(all).size).toBe(50);
  });
});

it("letters give groups that do not differ significantly", () => {
  expect(groups(["a", "ab", "b", "c"])).toEqual([
    { letter: "a", rows: [0, 1] },
    { letter: "b", rows: [1, 2] },
    { letter: "c", rows: [3] },
  ]);
});

it("a page of another schema is refused, and names are made printable", () => {
  expect(() => readPage('{"schema":"x"}')).toThrow("unknown kind");
  const page = readPage(
    JSON.stringify({ schema: COMPARE_SCHEMA, version: "1", recordings: null, runs: { metric: "a\u202eb" } }),
  );
  expect(page.runs?.metric).toBe("a\\u{202e}b");
});
