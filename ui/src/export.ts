// What of the window can be taken along without a server: stacks for other viewers,
// tables for spreadsheets.
//
// Each form is made piece by piece, because a single string of a million samples is more than a
// browser wants to hold.

import type { Page } from "./context";
import { lowerBound } from "./decimate";
import type { FlameData } from "./flame/data";
import type { Lane } from "./model";
import type { Panel } from "./panel";
import { SpanIndex } from "./spans";
import type { Range } from "./view";

export interface Export {
  id: string;
  title: string;
  file: string;
  mime: string;
  /** Null when the window holds nothing of it. */
  make: () => string[] | null;
}

/** Rows that are joined to one piece. */
const PIECE = 20_000;

class Pieces {
  readonly done: string[] = [];
  private rows: string[] = [];

  add(row: string): void {
    this.rows.push(row);
    if (this.rows.length >= PIECE) this.flush();
  }

  flush(): string[] {
    if (this.rows.length > 0) this.done.push(`${this.rows.join("\n")}\n`);
    this.rows = [];
    return this.done;
  }
}

/**
 * Stacks with their weights, root first, one a line: flamegraph.pl, inferno and speedscope read it.
 */
export function folded(data: FlameData): string[] {
  const path = paths(data);
  const out = new Pieces();
  for (let i = 1; i < data.parent.length; i++) {
    const weight = Math.round(data.self[i]);
    if (weight > 0)
      out.add(
        `${path(i)
          .map((name) => data.names[name].replace(/[;\n\r]/g, ","))
          .join(";")} ${weight}`,
      );
  }
  return out.flush();
}

const UNITS: Record<string, string> = { ns: "nanoseconds", bytes: "bytes" };

/** speedscope's own format: each stack once, with its weight. */
export function speedscope(data: FlameData, version: string): string[] {
  const path = paths(data);
  const places = new Map<number, number>();
  const frames: { name: string; file?: string }[] = [];
  const samples: number[][] = [];
  const weights: number[] = [];
  for (let i = 0; i < data.parent.length; i++) {
    const weight = Math.round(data.self[i]);
    if (weight <= 0) continue;
    samples.push(
      path(i).map((name) => {
        let at = places.get(name);
        if (at === undefined) {
          places.set(name, (at = frames.length));
          const file = data.modules[name];
          frames.push({ name: data.names[name], ...(file ? { file } : {}) });
        }
        return at;
      }),
    );
    weights.push(weight);
  }
  const total = weights.reduce((a, b) => a + b, 0);
  const profile = {
    type: "sampled",
    name: `${data.kind}, ${data.label}`,
    unit: UNITS[data.unit] ?? "none",
    startValue: 0,
    endValue: total,
    samples,
    weights,
  };
  return [
    JSON.stringify({
      $schema: "https://www.speedscope.app/file-format-schema.json",
      exporter: `fathom ${version}`,
      name: `${data.kind}, ${data.label}`,
      activeProfileIndex: 0,
      shared: { frames },
      profiles: [profile],
    }),
  ];
}

/** The names of a node's stack, root first, without the root that stands for all. */
function paths(data: FlameData): (node: number) => number[] {
  return (node) => {
    const out: number[] = [];
    for (let at = node; at > 0; at = data.parent[at]) out.push(data.name[at]);
    return out.reverse();
  };
}

/** A cell of a CSV file: quoted where it has to be, and no formula for a spreadsheet to run. */
export function cell(value: string | number): string {
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "";
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

const row = (...cells: (string | number)[]): string => cells.map(cell).join(",");
const seconds = (page: Page, t: number): string => (page.fromZero(t) / 1e9).toFixed(9);
const inside = (ranges: Range[], t: number): boolean => ranges.some((r) => r.from <= t && t < r.to);

/** Every sample of the window, of all kinds; times in seconds from the report's zero. */
export function samplesCsv(page: Page): string[] | null {
  const table = page.chosenSamples();
  const { names, parent, name } = table.stacks;
  const windows = page.windows();
  const known = new Map<number, string>();
  const stackOf = (node: number): string => {
    const there = known.get(node);
    if (there !== undefined) return there;
    const path: string[] = [];
    for (let at = node - 1; at >= 0; at = parent[at]) path.push(names[name[at]].replace(/;/g, ","));
    const text = path.reverse().join(";");
    known.set(node, text);
    return text;
  };
  const out = new Pieces();
  let rows = 0;
  for (const kind of table.kinds) {
    for (const { from, to } of windows) {
      for (let i = lowerBound(kind.t, from), end = lowerBound(kind.t, to); i < end; i++, rows++) {
        const thread = table.threads[kind.thread[i] - 1];
        out.add(
          row(
            kind.kind,
            seconds(page, kind.t[i]),
            thread?.process ?? "",
            thread?.name ?? "",
            thread?.tid ?? "",
            Math.round(kind.weight[i]),
            kind.unit,
            stackOf(kind.node[i]),
          ),
        );
      }
    }
  }
  return rows === 0 ? null : ["kind,time_s,process,thread,tid,weight,unit,stack\n", ...out.flush()];
}

/** Every span that touches the window, with its figures and labels in one cell. */
export function spansCsv(page: Page): string[] | null {
  const windows = page.windows();
  const { strings, sources } = page.lanes;
  const out = new Pieces();
  let rows = 0;
  for (const { group, lane } of all(page)) {
    if (lane.type !== "spans") continue;
    const index = SpanIndex.of(lane);
    const met = new Set<number>();
    for (const { from, to } of windows) {
      const [first, last] = index.candidates(from, to);
      for (let i = first; i < last; i++) {
        if (lane.t0[i] + lane.duration[i] < from || met.has(i)) continue;
        met.add(i);
        rows++;
        const comments = [
          ...lane.parts.filter((p) => p.values[i] > 0).map((p) => `${p.name}=${p.values[i]} ns`),
          ...lane.facts
            .filter((f) => !Number.isNaN(f.values[i]))
            .map((f) => `${f.name}=${f.values[i]}${f.unit === "" ? "" : ` ${f.unit}`}`),
          ...lane.labels.filter((l) => l.values[i] > 0).map((l) => `${l.name}=${strings[l.values[i] - 1]}`),
        ];
        const thread = page.samples.threads[(lane.thread?.[i] ?? 0) - 1];
        out.add(
          row(
            group,
            lane.title,
            strings[lane.name[i]] ?? "",
            lane.classes[lane.cls[i]] ?? "",
            seconds(page, lane.t0[i]),
            lane.duration[i],
            thread?.name ?? "",
            sources[lane.source[i]] ?? "",
            lane.line[i],
            comments.join("; "),
          ),
        );
      }
    }
  }
  return rows === 0 ? null : ["group,lane,name,kind,start_s,duration_ns,thread,source,line,details\n", ...out.flush()];
}

/** Every point of every line in the window. */
export function seriesCsv(page: Page): string[] | null {
  const windows = page.windows();
  const out = new Pieces();
  let rows = 0;
  for (const { group, lane } of all(page)) {
    if (lane.type !== "lines") continue;
    for (const line of lane.lines) {
      for (let i = 0; i < line.t.length; i++) {
        if (Number.isNaN(line.v[i]) || !inside(windows, line.t[i])) continue;
        rows++;
        out.add(row(group, lane.title, line.name, lane.unit, seconds(page, line.t[i]), line.v[i]));
      }
    }
  }
  return rows === 0 ? null : ["group,lane,line,unit,time_s,value\n", ...out.flush()];
}

function all(page: Page): { group: string; lane: Lane }[] {
  return page.lanes.groups.flatMap((g) => g.lanes.map((lane) => ({ group: g.name, lane })));
}

/** Stacks as files; `stacks` gives the call tree of what is chosen. */
export function stackExports(page: Page, stacks: () => FlameData | null): Export[] {
  const ofStacks = (make: (data: FlameData) => string[]) => (): string[] | null => {
    const data = stacks();
    return data && data.samples > 0 ? make(data) : null;
  };
  return [
    { id: "folded", title: "Stacks, folded", file: "stacks.folded", mime: "text/plain", make: ofStacks(folded) },
    {
      id: "speedscope",
      title: "Stacks for speedscope",
      file: "stacks.speedscope.json",
      mime: "application/json",
      make: ofStacks((d) => speedscope(d, page.diagnosis.version)),
    },
    { id: "samples", title: "Samples as CSV", file: "samples.csv", mime: "text/csv", make: () => samplesCsv(page) },
  ];
}

/** What lanes draw as files. */
export function laneExports(page: Page): Export[] {
  return [
    { id: "spans", title: "Spans as CSV", file: "spans.csv", mime: "text/csv", make: () => spansCsv(page) },
    { id: "series", title: "Series as CSV", file: "series.csv", mime: "text/csv", make: () => seriesCsv(page) },
  ];
}

/** What all panels of a page hand out. */
export function exportsOf(panels: Panel[], page: Page): Export[] {
  return panels.flatMap((panel) => panel.exports?.(page) ?? []);
}

/** Hands a file to the browser's downloads; nothing leaves the page by another way. */
export function download(file: string, mime: string, pieces: string[]): void {
  const address = URL.createObjectURL(new Blob(pieces, { type: `${mime};charset=utf-8` }));
  const link = document.createElement("a");
  link.href = address;
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
