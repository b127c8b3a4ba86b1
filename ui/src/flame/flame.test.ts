import { describe, expect, it } from "vitest";

import { change, type FlameData, FRAME_TYPES, totals } from "./data";
import { frames } from "./frames";
import { invert } from "./invert";
import { layout, nodeAt, pathTo } from "./layout";
import { changeLook, shorter } from "./looks";
import { labelOf } from "./paint";
import { expression, search } from "./search";
import { weight } from "./words";

/**
 * A graph from folded lines "a;b;c 7"; a type may stand behind a name: "a:C2". Base weights
 * behind a second space.
 */
function folded(lines: string[]): FlameData {
  const names = ["all"];
  const parent = [-1];
  const name = [0];
  const type = [FRAME_TYPES.indexOf("group")];
  const self = [0];
  const baseSelf = [0];
  const places = new Map<string, number>();
  for (const line of lines) {
    const [stack, weight, base = "0"] = line.split(" ");
    let at = 0;
    for (const frame of stack.split(";")) {
      const [text, kind = "native"] = frame.split(":");
      let id = names.indexOf(text);
      if (id < 0) id = names.push(text) - 1;
      const key = `${at}/${id}`;
      let node = places.get(key);
      if (node === undefined) {
        node = parent.push(at) - 1;
        name.push(id);
        type.push((FRAME_TYPES as readonly string[]).indexOf(kind));
        self.push(0);
        baseSelf.push(0);
        places.set(key, node);
      }
      at = node;
    }
    self[at] += Number(weight);
    baseSelf[at] += Number(base);
  }
  const parents = Int32Array.from(parent);
  const own = Float64Array.from(self);
  const ownBase = Float64Array.from(baseSelf);
  const n = parent.length;
  return {
    kind: "cpu",
    unit: "count",
    samples: n,
    label: "",
    names,
    modules: names.map(() => ""),
    parent: parents,
    name: Int32Array.from(name),
    type: Uint8Array.from(type),
    self: own,
    total: totals(parents, own),
    mix: null,
    base: {
      self: ownBase,
      total: totals(parents, ownBase),
      scale: 2,
      normalised: "per second",
      selfError: new Float64Array(n).fill(1),
      totalError: new Float64Array(n).fill(1),
      selfLimit: 3,
      totalLimit: 3,
      frames: null,
      label: "base",
    },
    notes: [],
  };
}

const GRAPH = folded(["main;a;x 6", "main;a;y 2", "main;b;x 3 1", "main;b;x;x 1", "main 4"]);

function named(data: FlameData, node: number): string {
  return data.names[data.name[node]];
}

describe("layout", () => {
  it("puts children side by side by name, within their caller, for every weight", () => {
    const laid = layout(GRAPH);
    for (let i = 0; i < GRAPH.parent.length; i++) {
      const children = Array.from(laid.child.subarray(laid.first[i], laid.first[i + 1]));
      expect(children.every((c) => GRAPH.parent[c] === i)).toBe(true);
      expect(children.map((c) => named(GRAPH, c))).toEqual(children.map((c) => named(GRAPH, c)).sort());
      const ends = children.map((c) => laid.x[c] + laid.width[c]);
      children.slice(1).forEach((c, k) => expect(laid.x[c]).toBe(ends[k]));
      expect(laid.width[i] - children.reduce((sum, c) => sum + laid.width[c], 0)).toBe(GRAPH.self[i]);
    }
    expect(laid.child.length).toBe(GRAPH.parent.length - 1);
  });

  it("finds the node under a place and the way to it", () => {
    const laid = layout(GRAPH);
    const at = nodeAt(laid, 0, [0], 8.5, 3);
    expect(at === null ? null : pathTo(GRAPH, at).map((i) => named(GRAPH, i))).toEqual(["all", "main", "b", "x"]);
    expect(nodeAt(laid, 0, [0], 15, 2)).toBeNull();
  });

  it("takes the widths of the baseline when asked to", () => {
    expect(layout(GRAPH, "base").width[0]).toBe(2);
  });
});

describe("invert", () => {
  it("keeps every weight and turns each stack around", () => {
    const turned = invert(GRAPH);
    expect(turned.total[0]).toBe(GRAPH.total[0]);
    expect(Array.from(turned.self).reduce((a, b) => a + b)).toBe(16);
    const top = Array.from(turned.parent.keys()).filter((i) => turned.parent[i] === 0);
    expect(Object.fromEntries(top.map((i) => [named(turned, i), turned.total[i]]))).toEqual({ x: 10, y: 2, main: 4 });
    const x = top.find((i) => named(turned, i) === "x") as number;
    const callers = Array.from(turned.parent.keys()).filter((i) => turned.parent[i] === x);
    expect(Object.fromEntries(callers.map((i) => [named(turned, i), turned.total[i]]))).toEqual({ a: 6, b: 3, x: 1 });
    expect(turned.base?.total[0]).toBe(1);
  });

  it("turned twice has the weights of the first", () => {
    const twice = invert(invert(GRAPH));
    const rows = (data: FlameData): unknown[] =>
      frames(data)
        .map((r) => [data.names[r.name], r.total])
        .sort();
    expect(rows(twice)).toEqual(rows(GRAPH));
  });
});

describe("search", () => {
  it("counts each sample once, however many of its frames match", () => {
    const found = search(GRAPH, /^(x|a)$/);
    expect(found.weight).toBe(12);
    expect(found.count).toBe(2);
    expect(search(GRAPH, /^x$/, 2).weight).toBe(6);
  });

  it("ignores case until there is a capital letter, and survives what is no expression", () => {
    expect(expression("Main")?.test("main")).toBe(false);
    expect(expression("main")?.test("Main")).toBe(true);
    expect(expression("\\W")?.flags).toBe("iu");
    expect(expression("(")).toBeNull();
    expect(expression("")).toBeNull();
  });
});

describe("frames", () => {
  it("counts a recursive frame once a sample", () => {
    const x = frames(GRAPH).find((row) => GRAPH.names[row.name] === "x");
    expect([x?.self, x?.total]).toEqual([10, 10]);
    const main = frames(GRAPH).find((row) => GRAPH.names[row.name] === "main");
    expect([main?.self, main?.total]).toEqual([4, 16]);
  });
});

describe("comparison", () => {
  it("calls a difference noise until it is beyond the limit, and compares it with the scaled baseline", () => {
    const b = Array.from(GRAPH.parent.keys()).find((i) => named(GRAPH, i) === "b") as number;
    expect(change(GRAPH, b, "total")).toEqual({
      base: 2,
      difference: 2,
      verdict: "noise",
      added: false,
      vanished: false,
    });
    const a = Array.from(GRAPH.parent.keys()).find((i) => named(GRAPH, i) === "a") as number;
    const more = change(GRAPH, a, "total");
    expect(more).toMatchObject({ verdict: "more", added: true });
    expect(more && changeLook(more, 8).sign).toBe("new");
  });
});

describe("labels", () => {
  const measure = (text: string) => 7 * text.length;
  const kernel = FRAME_TYPES.indexOf("kernel");
  const label = (room: number) => labelOf("ksys_write", kernel, "kern", room, measure);

  it("are never the letters of a kind alone, which each box has", () => {
    expect(label(150)).toEqual({ tag: "kern", text: "ksys_write" });
    expect(label(45)).toEqual({ tag: "", text: "ksys_…" });
    expect(label(21)).toEqual({ tag: "", text: "" });
    for (let room = 0; room < 200; room++) expect(label(room).tag === "" || label(room).text !== "").toBe(true);
  });

  it("of a change are its sign where there is room for no more", () => {
    expect(labelOf("ksys_write", kernel, "▲", 10, measure)).toEqual({ tag: "▲", text: "" });
  });
});

describe("names", () => {
  it("get shorter from the left for Java and lose their arguments for C++", () => {
    expect(shorter("org.example.Orders.total", 2)).toEqual(["org.example.Orders.total", "Orders.total", "total"]);
    expect(shorter("G1CollectedHeap::collect(GCCause::Cause)", 5)).toEqual([
      "G1CollectedHeap::collect(GCCause::Cause)",
      "G1CollectedHeap::collect",
      "collect",
    ]);
    expect(shorter("do_syscall_64", 7)).toEqual(["do_syscall_64"]);
  });
});

describe("a weight in words", () => {
  it("has the unit of its samples, whichever that is, and counts have none", () => {
    const words = (unit: string) => weight({ unit }, 2_000_000).replace(/\s/g, " ");
    expect(["ns", "bytes", "cycles", "count"].map(words)).toEqual([
      "2.00 ms",
      "1.91 MB",
      "2,000,000 cycles",
      "2,000,000",
    ]);
  });
});
