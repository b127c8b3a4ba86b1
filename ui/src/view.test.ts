import { describe, expect, it } from "vitest";

import { placeFromHash, placeToHash, View } from "./view";

describe("the view", () => {
  it("zooms around the moment under the pointer", () => {
    const view = new View({ from: 0, to: 1000e6 });
    view.zoom(2, 250e6);
    expect([view.from, view.to]).toEqual([125e6, 625e6]);
  });
  it("never leaves the whole, however it is moved", () => {
    const view = new View({ from: 0, to: 1000e6 });
    view.show(-500e6, 300e6);
    expect([view.from, view.to]).toEqual([0, 800e6]);
    view.pan(10);
    expect([view.from, view.to]).toEqual([200e6, 1000e6]);
    view.zoom(1e-9, 500e6);
    expect([view.from, view.to]).toEqual([0, 1000e6]);
  });
  it("does not go closer than can be told apart", () => {
    const view = new View({ from: 0, to: 1000e6 });
    for (let i = 0; i < 100; i++) view.zoom(10, 5e6);
    expect(view.width).toBeCloseTo(1000, 3);
  });
});

describe("a link", () => {
  it("brings back the place it was made of", () => {
    const place = { from: -1.25, to: 163.5, at: 145.2 };
    expect(placeFromHash(placeToHash(place))).toEqual(place);
    const close = placeFromHash(placeToHash({ from: 100.000001, to: 100.000003, at: null }));
    expect(close?.from).toBeCloseTo(100.000001, 9);
  });
  it("that is not one of ours is ignored", () => {
    for (const hash of ["", "#timeline", "#t=5..1", "#t=a..b", "#t=1..2<script>"]) expect(placeFromHash(hash)).toBeNull();
  });
});
