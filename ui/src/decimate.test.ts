import { describe, expect, it } from "vitest";

import { decimate, indexBefore, lowerBound, raw } from "./decimate";

const N = 100_000;
const t = Float64Array.from({ length: N }, (_, i) => i);
const v = new Float64Array(N).fill(1);
v[12_345] = 9;
v[54_321] = -9;
v[77_777] = NaN;

describe("decimation", () => {
  const at = (time: number) => 2 * (Math.floor(time / (N / 500)) + 1);
  it("keeps every spike and dip in two rows a pixel, in the order in which they came", () => {
    const { t: times, rows } = decimate([{ t, v }], 0, N, 500);
    expect(times.length).toBe(2 * 502);
    expect([...times].sort((a, b) => a - b)).toEqual(times);
    expect(rows[0].slice(at(12_345), at(12_345) + 2)).toEqual([1, 9]);
    expect(rows[0].slice(at(54_321), at(54_321) + 2)).toEqual([1, -9]);
    expect(rows[0].slice(at(100), at(100) + 2)).toEqual([1, undefined]);
  });
  it("keeps a gap that fills a pixel, and lets lines without a point there pass through", () => {
    const gap = Float64Array.from(v, (x, i) => (i >= 200 && i < 400 ? NaN : x));
    const sparse = { t: Float64Array.from([0, 99_999]), v: Float64Array.from([1, 2]) };
    const { rows } = decimate([{ t, v: gap }, sparse], 0, N, 500);
    expect(rows[0][at(300)]).toBeNull();
    expect(rows[1][at(300)]).toBeUndefined();
  });
  it("shows each point of a narrow view and one beyond each end", () => {
    expect(raw({ t, v }, 99.5, 102.5, 500)?.[0]).toEqual([99, 100, 101, 102, 103]);
    expect(raw({ t, v }, 0, N, 500)).toBeNull();
    expect(raw({ t, v }, 77_776.5, 77_777.5, 500)?.[1]).toEqual([1, null, 1]);
  });
  it("gives nothing for nothing", () => {
    const nothing = { t: new Float64Array(), v: new Float64Array() };
    expect(raw(nothing, 0, 1, 10)).toEqual([[], []]);
    expect(decimate([nothing], 0, 1, 10).rows[0].every((r) => r === undefined)).toBe(true);
  });
});

describe("searching", () => {
  it("finds the point at or before a moment", () => {
    const times = Float64Array.from([1, 3, 5]);
    expect([0, 1, 2, 5, 6].map((at) => indexBefore(times, at))).toEqual([-1, 0, 0, 2, 2]);
    expect(lowerBound(times, 4)).toBe(2);
  });
});
