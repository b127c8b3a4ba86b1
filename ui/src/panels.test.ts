import { describe, expect, it } from "vitest";

import { laneOf } from "./cited";
import { keysOf } from "./components/Help";
import type { Page } from "./context";
import { exportsOf } from "./export";
import { cutsSlices, ledgerOf } from "./ledger";
import { began } from "./marks";
import type { Lanes, SpanLane } from "./model";
import type { Panel } from "./panel";
import { PANELS, panelsOf } from "./panels";
import { poolOf } from "./pools";
import { between, columnLength, latencies, offsets } from "./samples/heat";
import { LAYERS, layersIn, layersOf, sampleLane } from "./samples/lane";
import { merge } from "./samples/merge";
import type { SampleTable } from "./samples/table";
import { SpanIndex } from "./spans";
import { countRows, groupings, groupRows, keyOf } from "./tables";

const S = 1e9;

function lane(spans: [number, number, number, number][]): SpanLane {
  const column = (pick: (s: [number, number, number, number]) => number): Float64Array =>
    Float64Array.from(spans, pick);
  return {
    type: "spans",
    id: "x",
    title: "Writes",
    classes: ["a"],
    rows: [""],
    note: "",
    t0: column((s) => s[0]),
    duration: column((s) => s[1]),
    cls: column(() => 0),
    row: column(() => 0),
    name: column((s) => s[2]),
    source: column(() => 0),
    line: column(() => 0),
    parts: [],
    facts: [],
    labels: [{ name: "path", unit: "", values: column((s) => s[3]) }],
    stack: null,
    thread: null,
  };
}

describe("the panels", () => {
  const nothing = {
    // Every list of a diagnosis: a panel may look at any of them.
    diagnosis: {
      ...{ recordings: [], inputs: [], marks: [], account: [], ledger: [], findings: [] },
      ...{ ruled_out: [], blind_spots: [], warnings: [], windows: { slow: [], base: [], how: [] } },
    },
    lanes: { groups: [], counted: [], ledger: null },
    samples: { kinds: [], threads: [] },
  };
  const pageWith = (parts: object) => ({ ...nothing, ...parts }) as unknown as Page;
  const shown = (parts: object) => panelsOf(pageWith(parts)).map((panel) => panel.id);
  const mine: Panel = {
    id: "mine",
    title: "Mine",
    side: "show",
    digit: "9",
    keys: [["m", "more"]],
    exports: () => [{ id: "mine", title: "Mine", file: "mine.csv", mime: "text/csv", make: () => null }],
    shows: (page) => page.diagnosis.inputs.length > 0,
    Component: () => null,
  };

  it("have ids and digits of their own", () => {
    const ids = PANELS.map((panel) => panel.id);
    const digits = PANELS.flatMap(({ digit }) => (digit === undefined ? [] : [digit]));
    expect(new Set(ids).size).toBe(ids.length);
    expect(new Set(digits).size).toBe(digits.length);
    for (const digit of digits) expect(digit).toMatch(/^[1-9]$/);
  });

  it("are on a page that has something for them", () => {
    expect(shown({})).toEqual(["verdict", "timeline", "selection"]);
    const spans = { groups: [{ name: "", detail: "", open: true, lanes: [lane([])] }], counted: [], ledger: null };
    expect(shown({ lanes: spans })).toEqual(["verdict", "timeline", "selection", "heat", "tables"]);
    const samples = { kinds: [{ kind: "cpu" }], threads: [] };
    expect(shown({ samples })).toEqual(["verdict", "timeline", "selection", "stacks", "heat", "tables"]);
  });

  it("bring their keys, their digit and their files along", () => {
    const page = pageWith({ diagnosis: { ...nothing.diagnosis, inputs: [{}] } });
    const panels = panelsOf(page, [...PANELS, mine]);
    expect(panels.at(-1)).toBe(mine);
    expect(keysOf(panels)).toContainEqual(["m", "more"]);
    expect(keysOf(panels)).toContainEqual(["1 9", "to timeline, mine"]);
    expect(exportsOf(panels, page).map((file) => file.id)).toEqual(["spans", "series", "mine"]);
    expect(panelsOf(pageWith({}), [...PANELS, mine])).not.toContain(mine);
  });
});

describe("what the verdict cites", () => {
  it("is on the lane with a span of that moment, of the line that is cited", () => {
    const [gc, stops, calls] = [
      lane([
        [1 * S, 5, 0, 0],
        [2 * S, 5, 0, 0],
      ]),
      lane([[2 * S, 9, 0, 0]]),
      lane([[3 * S, 9, 0, 0]]),
    ];
    [gc.id, stops.id, calls.id] = ["gc", "stops", "calls"];
    stops.line[0] = 42;
    const lanes: Lanes = {
      originNs: 0,
      from: 0,
      to: 9 * S,
      sources: ["gc.log"],
      strings: [],
      groups: [{ name: "App", detail: "", open: false, lanes: [gc, stops, calls] }],
    } as unknown as Lanes;
    expect(laneOf(lanes, 2 * S, "gc.log:42")).toBe("stops");
    expect(laneOf(lanes, 2 * S + 200, "")).toBe("gc");
    expect(laneOf(lanes, 3 * S, "syscalls")).toBe("calls");
    expect(laneOf(lanes, 2.5 * S, "gc.log:42")).toBeNull();
  });
});

describe("marks", () => {
  it("say when a slow window began with them, and never that they caused it", () => {
    const mark = { at_ns: 0, text: "deploy 2.3", precision_ns: 1e9, source: "--mark" };
    expect(began({ ...mark, began: null })).toBe("deploy 2.3");
    const text = (before_ms: number) =>
      began({ ...mark, began: { from_ns: 0, before_ms, within_ms: 2000 } }).replace(/\u00a0|\u202f/g, " ");
    expect(text(400)).toContain("a slow window began with: deploy 2.3 (400 ms before its beginning");
    expect(text(-400)).toContain("400 ms after its beginning");
    expect(text(0)).toContain("at its beginning; moments up to 2");
  });
});

describe("pools of threads", () => {
  it("hold one kind of threads: C1 and C2 are two", () => {
    expect(poolOf("C2 CompilerThread0")).toBe("C2 CompilerThreadN");
    expect(poolOf("C1 CompilerThread12")).toBe("C1 CompilerThreadN");
    expect(poolOf("http-nio-8080-exec-7")).toBe("http-nio-N-exec-N");
    expect(poolOf("G1 Conc#0")).toBe("G1 Conc#N");
    expect(poolOf("worker7")).toBe("workerN");
  });
});

describe("a heatmap", () => {
  it("puts each moment into its column and the row of its offset", () => {
    const heat = offsets(Float64Array.from([0.5 * S, 1.01 * S, 1.02 * S, 9 * S]), null, { from: 0, to: 300 * S }, 0);
    expect([heat.columnNs, heat.columns, heat.total, heat.max]).toEqual([1 * S, 300, 4, 1]);
    expect(heat.cells[25]).toBe(1);
    expect(heat.cells[1 * 50 + 0]).toBe(1);
  });
  it("of latencies has whole decades for rows", () => {
    const heat = latencies(
      Float64Array.from([0, S, 2 * S]),
      Float64Array.from([2e6, 5e7, 0]),
      { from: 0, to: 100 * S },
      0,
    );
    expect(heat.latency).toEqual({ low: 1e6, high: 1e8 });
    expect(heat.total).toBe(2);
  });
  it("brushes from the earlier cell to the end of the later one, whichever was first", () => {
    const heat = offsets(new Float64Array(0), null, { from: 0, to: 100 * S }, 0);
    const [a, b] = [
      { column: 3, row: 10 },
      { column: 2, row: 40 },
    ];
    expect(between(heat, a, b)).toEqual(between(heat, b, a));
    expect(between(heat, a, b)).toEqual({
      from: 2 * heat.columnNs + 0.8 * heat.columnNs,
      to: 3 * heat.columnNs + 0.22 * heat.columnNs,
    });
  });
  it("never has more columns than can be hit", () => {
    for (const width of [1e-3, 1, 60, 3600, 1e6, 1e9])
      expect((width * S) / columnLength({ from: 0, to: width * S })).toBeLessThanOrEqual(361);
  });
});

describe("a table of spans", () => {
  const writes = lane([
    [0, 10, 0, 1],
    [5, 30, 0, 2],
    [50, 4, 1, 1],
    [90, 20, 0, 0],
  ]);
  const rows = (by: string, windows: { from: number; to: number }[], base: { from: number; to: number }[] = []) =>
    groupRows(new SpanIndex(writes), windows, base, keyOf(writes, by, ["write", "fsync"], []));
  it("groups by any label, counts what touches the window and its time within it", () => {
    expect(groupings(writes).map((g) => g.id)).toEqual(["name", "label:path"]);
    const all = rows("label:path", [{ from: 0, to: 100 }]);
    expect(all.map((r) => [r.key, r.count, r.totalNs, r.maxNs])).toEqual([
      ["write", 2, 14, 10],
      ["fsync", 1, 30, 30],
      ["no path", 1, 10, 20],
    ]);
  });
  it("scales the baseline to the length of the window", () => {
    const [row] = rows("name", [{ from: 0, to: 20 }], [{ from: 40, to: 140 }]).filter((r) => r.key === "write");
    expect([row.count, row.baseCount, row.baseTotalNs]).toEqual([2, 0.2, 4]);
  });
  it("counts a span that reaches over two windows once", () => {
    const [row] = rows("name", [
      { from: 0, to: 10 },
      { from: 20, to: 30 },
    ]);
    expect([row.count, row.totalNs]).toEqual([2, 10 + 5 + 10]);
  });
});

describe("the ledger of a window", () => {
  const over = {
    edges: Float64Array.from([0, 10, 20]),
    categories: ["running: Java, C2", "idle"],
    groupings: [
      {
        by: "role",
        groups: [{ name: "app", process: "p", process_id: 0 }],
        active: 1,
        spent: Float64Array.from([4, 6, 1, 9]),
      },
    ],
  };
  it("adds up slices, those that it cuts in part", () => {
    const [all] = ledgerOf(over, "role", [{ from: 0, to: 20 }]);
    expect([all.total, all.busy]).toEqual([20_000, 5_000]);
    expect(ledgerOf(over, "role", [{ from: 5, to: 10 }])[0].busy).toBe(2_000);
    expect(cutsSlices({ ...over, edges: Float64Array.from([0, 1e6, 2e6]) }, [{ from: 5e5, to: 1e6 }])).toBe(true);
  });
});

describe("the lane of samples", () => {
  const n = 1000;
  const parent = Int32Array.from([-1]);
  const table: SampleTable = {
    threads: Array.from({ length: 30 }, (_, i) => ({ name: `t${i}`, tid: null, process: "", role: "app" as const })),
    stacks: {
      names: [],
      modules: [],
      frameNames: 0,
      parent,
      name: parent.map(() => 0),
      type: Uint8Array.from([7]),
      merged: merge(
        parent,
        parent.map(() => 0),
      ),
    },
    kinds: [
      {
        kind: "cpu",
        unit: "ns",
        samples: n,
        note: "",
        t: Float64Array.from({ length: n }, (_, i) => i),
        node: Int32Array.from({ length: n }, (_, i) => i % 2),
        thread: Int32Array.from({ length: n }, (_, i) => 1 + (i % 30)),
        weight: new Float64Array(n).fill(2),
      },
    ],
  };
  const rows = sampleLane(table, table.kinds[0], 0, n);
  it("has a row for each of the busiest threads and one for all others, and loses no weight", () => {
    expect(rows.rows.length).toBe(16);
    expect(rows.rows[15]).toEqual({ name: "15 other threads", threads: 15 });
    for (const [from, to] of [
      [0, n],
      [0, n / 50],
    ]) {
      const cells = layersOf(rows, from, to, 10);
      expect(cells.reduce((a, b) => a + b, 0)).toBe(2 * (to - from));
    }
    const [kernel, unknown] = [LAYERS.indexOf("kernel"), LAYERS.indexOf("unknown")];
    const all = rows.rows.map((_, r) => layersIn(rows, r, 0, n));
    expect(all.reduce((sum, l) => sum + l[kernel], 0)).toBe(n);
    expect(all.reduce((sum, l) => sum + l[unknown], 0)).toBe(n);
  });
});

it("counts of an interval that lies in the window in part count for that part", () => {
  const table = {
    id: "c",
    title: "",
    process: "",
    note: "",
    t0: Float64Array.from([0, 100, 200]),
    duration: Float64Array.from([100, 100, 100]),
    name: Float64Array.from([0, 1, 0]),
    thread: new Float64Array(3),
    count: Float64Array.from([10, 4, 6]),
    time: Float64Array.from([50, 20, 30]),
  };
  const rows = countRows(table, [{ from: 50, to: 200 }], [{ from: 200, to: 275 }], (i) => `n${table.name[i]}`);
  expect(rows).toEqual([
    { key: "n0", count: 5, timeNs: 25, baseCount: 9, baseTimeNs: 45 },
    { key: "n1", count: 4, timeNs: 20, baseCount: 0, baseTimeNs: 0 },
  ]);
});
