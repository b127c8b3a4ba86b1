import { describe, expect, it } from "vitest";

import { curveOf, progressLane } from "./curve";
import type { Group, LineLane } from "./model";

function lane(id: string, values: number[], unit = "1/s"): LineLane {
  const t = Float64Array.from(values, (_, i) => i * 1e9);
  const lines = [{ name: "sum", main: true, t, v: Float64Array.from(values) }];
  return { type: "lines", id, title: id, unit, steps: false, open: true, lines, note: "" };
}

const group = (name: string, lanes: LineLane[]): Group => ({ name, detail: "", open: true, lanes });

describe("the curve above the verdict", () => {
  it("is of the throughput, else of requests, else of whatever the application was measured by", () => {
    const [heap, latency, requests, throughput] = [
      "p0-heap",
      "series-all-latency-ms",
      "series-all-requests-1/s",
      "series-all-throughput-tx/s",
    ].map((id) => lane(id, [1, 2]));
    const groups = [group("server2", [heap]), group("Application", [latency, requests, throughput])];
    expect(progressLane(groups)?.id).toBe(throughput.id);
    expect(progressLane([group("Application", [latency, requests])])?.id).toBe(requests.id);
    expect(progressLane([group("Application", [latency])])?.id).toBe(latency.id);
    expect(progressLane([group("server2", [heap])])).toBeNull();
  });

  it("begins at zero, so that a dip is as deep as it is", () => {
    const curve = curveOf(lane("x", [100, 50, 100]), { from: 0, to: 2e9 });
    expect(curve?.top).toBe(100);
    expect(curve?.path).toBe("M0,8 L500,54 L1000,8");
    expect(curve?.area).toBe("M0,100 L0,8 L500,54 L1000,8 L1000,100 Z");
  });

  it("has a gap where there is no value", () => {
    const curve = curveOf(lane("x", [10, NaN, 10, 10]), { from: 0, to: 3e9 });
    expect(curve?.path).toBe("M0,8 M666.7,8 L1000,8");
  });

  it("keeps the lowest and the highest of what falls on one place", () => {
    const values = Array.from({ length: 50_000 }, (_, i) => (i === 20_000 ? 3 : 100));
    const curve = curveOf(lane("x", values), { from: 0, to: 50_000e9 });
    expect(curve?.path).toContain(",97.2");
    expect(curve?.path.split(" ").length).toBeLessThan(2_000);
  });

  it("is nothing without two values in sight", () => {
    expect(curveOf(lane("x", [1]), { from: 0, to: 1e9 })).toBeNull();
    expect(curveOf(lane("x", [1, 2]), { from: 5e9, to: 9e9 })).toBeNull();
    expect(curveOf(lane("x", [NaN, NaN]), { from: 0, to: 9e9 })).toBeNull();
  });
});
