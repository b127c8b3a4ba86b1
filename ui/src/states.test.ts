import { describe, expect, it } from "vitest";

import type { LedgerOverTime } from "./model";
import { stateLane } from "./states";

/** Two slices of a second; each thread spends all of both under one category. */
function ledger(threads: { name: string; category: number }[], active: number): LedgerOverTime {
  const categories = ["blocked on a monitor", "idle"];
  const spent = new Float64Array(2 * threads.length * categories.length);
  for (let s = 0; s < 2; s++) {
    threads.forEach(({ category }, g) => {
      spent[(s * threads.length + g) * categories.length + category] = 1e6;
    });
  }
  const groups = threads.map(({ name }) => ({ name, process: "", process_id: null }));
  return {
    edges: Float64Array.from([0, 1e9, 2e9]),
    categories,
    groupings: [{ by: "thread", groups, active, spent }],
  };
}

const names = (over: LedgerOverTime): string[] => (stateLane(over)?.rows ?? []).map((row) => row.name);

describe("the lane of what threads did", () => {
  const requests = [12, 3, 7, 1].map((n) => ({ name: `request-${n}`, category: 0 }));
  const readers = [2, 1].map((n) => ({ name: `backend-${n}`, category: 1 }));

  it("has the threads that work or wait in the slow window before idle ones, whatever they are called", () => {
    expect(names(ledger([...requests, ...readers], 4))).toEqual([
      "request-1",
      "request-3",
      "request-7",
      "request-12",
      "backend-1",
      "backend-2",
    ]);
  });

  it("has pools in the order of their first thread, and their threads by name", () => {
    const writer = { name: "audit-writer", category: 0 };
    expect(names(ledger([writer, ...requests, ...readers], 5))[0]).toBe("audit-writer");
    expect(names(ledger([...requests, writer, ...readers], 5)).slice(3, 5)).toEqual(["request-12", "audit-writer"]);
  });

  it("leaves no place to idle threads where there are active ones enough, and says which it shows", () => {
    const many = Array.from({ length: 30 }, (_, n) => ({ name: `request-${n}`, category: 0 }));
    const lane = stateLane(ledger([...many, ...readers], 30));
    expect(lane?.rows.length).toBe(16);
    expect(lane?.rows.every((row) => row.name.startsWith("request-"))).toBe(true);
    expect(lane?.note).toBe("16 threads: those whose time changed most in the slow windows, then the busiest");
  });
});
