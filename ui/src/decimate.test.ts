import { describe, expect, it } from "vitest";

import { decimate, indexBefore, lowerBound } from "./decimate";

const N = 100_000;
const t = Float64Array.from({ length: N }, (_, i) => i);
const v = new Float64Array(N).fill(1);
v[12_345] = 9;
v[54_321] = -9;
v[77_777] = NaN;

describe("decimation", () => {
  it("keeps every spike, dip and gap within two or three points a pixel", () => {
    const thin = decimate(t, v, 0, N, 500);
    expect(thin.t.length).toBeLessThan(3 * 501);
    expect(thin.v[thin.t.indexOf(12_345)]).toBe(9);
    expect(thin.v[thin.t.indexOf(54_321)]).toBe(-9);
    expect(thin.v[thin.t.indexOf(77_777)]).toBeNull();
    expect([...thin.t].sort((a, b) => a - b)).toEqual(thin.t);
  });
  it("shows each point of a narrow view and one beyond each end", () => {
    expect(decimate(t, v, 99.5, 102.5, 500).t).toEqual([99, 100, 101, 102, 103]);
  });
  it("gives nothing for nothing", () => {
    expect(decimate(new Float64Array(), new Float64Array(), 0, 1, 10)).toEqual({ t: [], v: [] });
  });
});

describe("searching", () => {
  it("finds the point at or before a moment", () => {
    const times = Float64Array.from([1, 3, 5]);
    expect([0, 1, 2, 5, 6].map((at) => indexBefore(times, at))).toEqual([-1, 0, 0, 2, 2]);
    expect(lowerBound(times, 4)).toBe(2);
  });
});
