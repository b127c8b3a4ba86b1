import { describe, expect, it } from "vitest";

import { View } from "./view";

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
  it("does not go closer than a microsecond", () => {
    const view = new View({ from: 0, to: 1000e6 });
    for (let i = 0; i < 100; i++) view.zoom(10, 5e6);
    expect(view.width).toBeCloseTo(1000, 3);
  });
  it("opens on a part, comes back to it, and lets all of the rest be seen", () => {
    const view = new View({ from: 0, to: 1000e6 }, { from: 400e6, to: 700e6 });
    expect([view.from, view.to, view.isOpening]).toEqual([400e6, 700e6, true]);
    view.zoom(1e-9, 500e6);
    expect([view.from, view.to, view.isOpening]).toEqual([0, 1000e6, false]);
    view.reset();
    expect([view.from, view.to, view.isOpening]).toEqual([400e6, 700e6, true]);
  });
});
