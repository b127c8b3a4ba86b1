import { describe, expect, it } from "vitest";

import type { Diagnosis } from "./generated/diagnosis";
import type { Lanes } from "./model";
import { homeOf, openingOf } from "./run";
import type { Range } from "./view";

const S = 1e9;
const ORIGIN = 1_000 * S;

function made(whole: Range, recorded: Range, slow: Range[] = [], base: Range[] = []): [Diagnosis, Lanes] {
  const absolute = (all: Range[]) => all.map((r) => ({ from_ns: ORIGIN + r.from, to_ns: ORIGIN + r.to }));
  const diagnosis = { windows: { slow: absolute(slow), base: absolute(base), how: "" } } as unknown as Diagnosis;
  return [diagnosis, { originNs: ORIGIN, ...whole, recorded } as unknown as Lanes];
}

describe("where the timeline opens", () => {
  it("is what was recorded, not the beginning of a wait of long before", () => {
    const run = made({ from: 0, to: 400 * S }, { from: 300 * S, to: 360 * S });
    expect(openingOf(...run)).toEqual({ from: 300 * S, to: 360 * S });
    expect(homeOf(...run)).toEqual({ from: 0, to: 400 * S });
  });

  it("holds the windows of the verdict, also where a user gave them beyond what was recorded", () => {
    const slow = [{ from: 250 * S, to: 310 * S }];
    const base = [{ from: 320 * S, to: 380 * S }];
    expect(openingOf(...made({ from: 0, to: 400 * S }, { from: 300 * S, to: 360 * S }, slow, base))).toEqual({
      from: 250 * S,
      to: 380 * S,
    });
  });

  it("is the whole where nothing says what was recorded, or hardly anything lies outside", () => {
    expect(openingOf(...made({ from: 0, to: 400 * S }, { from: 7, to: 7 }))).toEqual({ from: 0, to: 400 * S });
    expect(openingOf(...made({ from: 0, to: 400 * S }, { from: 0.5 * S, to: 399 * S }))).toEqual({
      from: 0,
      to: 400 * S,
    });
  });

  it("never lies outside of what can be shown", () => {
    const year = 365 * 86_400 * S;
    const slow = [{ from: 10 * S, to: 20 * S }];
    const run = made({ from: -year, to: 60 * S }, { from: -year, to: 60 * S }, slow, [{ from: 20 * S, to: 60 * S }]);
    expect(homeOf(...run)).toEqual({ from: 0, to: 70 * S });
    expect(openingOf(...run)).toEqual({ from: 0, to: 60 * S });
  });
});
