import { describe, expect, it } from "vitest";

import { placeToHash, read, write } from "./link";
import { NOTHING_CHOSEN } from "./state";

describe("a link", () => {
  it("brings back the place it was made of", () => {
    const link = read(placeToHash({ from: -1.25, to: 163.5, at: 145.2 }));
    expect(link).toEqual({ view: { from: -1.25, to: 163.5 }, at: 145.2, choice: {} });
    expect(read(placeToHash({ from: 100.000001, to: 100.000003, at: null }))?.view?.from).toBeCloseTo(100.000001, 9);
  });
  it("leads to a lane", () => {
    const link = read(placeToHash({ from: 1, to: 2, at: 1.5, lane: "p0-gc.pause" }));
    expect(link).toEqual({ view: { from: 1, to: 2 }, at: 1.5, lane: "p0-gc.pause", choice: {} });
    expect(read(write({ view: { from: 1, to: 2 }, at: 1.5, lane: "p0-x,&", choice: {} }))?.lane).toBe("p0-x,&");
  });
  it("brings back everything that was chosen", () => {
    const choice = {
      windows: [
        { from: 1, to: 2 },
        { from: 5, to: 7 },
      ],
      base: [],
      kind: "off-cpu",
      threads: [0, 3],
      perThread: true,
      normalisation: "share" as const,
      stackView: "order" as const,
      heat: "p0-gc.pause",
      table: "p0-a,b&c:cause",
      folds: { "p0-x,y": false, "p1-&": true },
      order: ["a,b", "c"],
    };
    const view = { from: 0, to: 10 };
    expect(read(write({ view, at: null, choice }))).toEqual({ view, at: null, choice });
    expect(write({ view: null, at: null, choice: NOTHING_CHOSEN })).toBe("");
  });
  it("that is not one of ours is ignored, and of one that is only what is understood is taken", () => {
    for (const hash of ["", "#timeline", "#t=5..1", "#t=a..b", "#t=1..2<script>", "#w=%E0%A4%A"])
      expect(read(hash)).toBeNull();
    expect(read("#t=1..2&n=evil&v=__proto__&w=9..1")).toEqual({ view: { from: 1, to: 2 }, at: null, choice: {} });
  });
  it("holds how tables, ledger and flame graph are shown", () => {
    const choice = {
      table: "p0-disk.sync|name",
      sort: "3a",
      filter: "fsync é",
      ledger: "pool",
      ledgerQuiet: true,
      inverted: true,
      search: "^java\\.(util|io)",
    };
    const hash = write({ view: null, at: null, choice });
    expect(read(hash)?.choice).toEqual(choice);
    expect(read("#sort=3x")).toBeNull();
  });
});
