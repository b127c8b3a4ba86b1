// Figures of a comparison in words, and the sections that measures belong to.

import { duration, quantity } from "../format";
import type { Change, Measure, Verdict } from "../generated/compare";
import type { Two } from "./model";

/** A figure in its unit. What one operation takes may be short: it is written in its own unit. */
export function figure(value: number | null, unit: string): string {
  if (value === null || !Number.isFinite(value)) return "not known";
  if (unit === "ms/op") return value === 0 ? "0/op" : `${duration(value * 1e6)}/op`;
  if (unit === "count") return quantity(value, "");
  if (unit === "1/op") return `${small(value)}/op`;
  if (unit === "1/s") return `${small(value)}/s`;
  if (unit === "s") return duration(value * 1e9);
  return unit === "ms" || unit === "share" ? quantity(value, unit) : `${small(value)}\u202f${unit}`;
}

/** Four digits, and no rounding to nothing. */
function small(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  const text =
    size >= 1000
      ? Math.round(size)
          .toString()
          .replace(/\B(?=(\d{3})+(?!\d))/g, ",")
      : String(+size.toPrecision(size >= 100 ? 3 : 4));
  return `${value < 0 ? "−" : ""}${text}`;
}

/** A difference with its sign. Shares differ by points. */
export function signed(value: number, unit: string): string {
  const size = Math.abs(value);
  const text = unit === "share" ? `${(size * 100).toFixed(2)} points` : figure(size, unit);
  return `${value < 0 ? "−" : "+"}${text}`;
}

/** "between +1.2 ms/op and +1.6 ms/op". */
export function interval(between: Two | null, unit: string): string {
  return between === null ? "not known" : `${signed(between[0], unit)} to ${signed(between[1], unit)}`;
}

/** A ratio: "1.04", "0.351". */
export function ratio(value: number | null): string {
  if (value === null || !Number.isFinite(value)) return "–";
  return value >= 99.95 ? value.toFixed(0) : String(+value.toPrecision(4));
}

export function chance(p: number | null): string {
  if (p === null || !Number.isFinite(p)) return "not known";
  return p < 0.0001 ? "< 0.0001" : p.toFixed(4);
}

export const WORDS: Record<Verdict, string> = {
  faster: "faster",
  slower: "slower",
  no_difference: "no difference",
  cannot_tell: "cannot tell",
};

export const CHANGES: Record<Change, { word: string; means: string }> = {
  new: { word: "new", means: "A has nothing of it" },
  gone: { word: "gone", means: "B has nothing of it" },
  moved: {
    word: "moved",
    means: "the cost is in another frame: with all that it calls, or with what calls it, it does not differ that way",
  },
  more: { word: "more", means: "it costs more, also with what it calls" },
  less: { word: "less", means: "it costs less, also with what it calls" },
};

/** A part of the page with figures of both sides. */
export interface Section {
  id: string;
  title: string;
  /** What shows it where it is not known. */
  shownBy: string;
  measures: Measure[];
}

const SECTIONS: { id: string; title: string; prefixes: string[]; shownBy: string }[] = [
  {
    id: "operations",
    title: "Operations",
    prefixes: ["throughput"],
    shownBy: "a table of throughput or an access log with each recording",
  },
  {
    id: "gc",
    title: "Collections",
    prefixes: ["gc."],
    shownBy: "a GC log, a flight recording or fathom record of both",
  },
  {
    id: "jit",
    title: "Compilations and safepoints",
    prefixes: ["jit.", "safepoint."],
    shownBy: "a compilation log, a flight recording or fathom record of both",
  },
  {
    id: "locks",
    title: "Locks",
    prefixes: ["locks."],
    shownBy: "a flight recording or fathom record of both, in which a thread waited for a lock",
  },
  {
    id: "syscalls",
    title: "System calls",
    prefixes: ["calls.system.", "syscalls."],
    shownBy: "fathom record or strace of both",
  },
  {
    id: "calls",
    title: "Calls of others: network, names, disks",
    prefixes: ["calls."],
    shownBy: "fathom record or a flight recording of both",
  },
  { id: "threads", title: "Threads", prefixes: ["threads."], shownBy: "a recording of both that names threads" },
];

/** All measures but those of the ledger, each in the first section that takes it. */
export function sections(measures: Measure[]): Section[] {
  const taken = new Set<string>();
  return SECTIONS.map(({ prefixes, ...section }) => {
    const mine = measures.filter((m) => !taken.has(m.id) && prefixes.some((prefix) => m.id.startsWith(prefix)));
    mine.forEach((m) => taken.add(m.id));
    return { ...section, measures: mine };
  });
}

/** A group of threads with what it spent its time on. */
export interface LedgerGroup {
  name: string;
  unit: string;
  rows: Measure[];
  first: number;
  second: number;
}

/** The ledger, a group of threads each: what differs most stands first. */
export function ledger(measures: Measure[]): LedgerGroup[] {
  const groups = new Map<string, LedgerGroup>();
  for (const measure of measures.filter((m) => m.id.startsWith("ledger."))) {
    const at = measure.name.indexOf(": ");
    const name = at < 0 ? measure.name : measure.name.slice(0, at);
    const group = groups.get(name) ?? { name, unit: measure.unit, rows: [], first: 0, second: 0 };
    group.rows.push({ ...measure, name: at < 0 ? measure.name : measure.name.slice(at + 2) });
    group.first += measure.first;
    group.second += measure.second;
    groups.set(name, group);
  }
  const moved = (m: Measure): number => Math.abs(m.second - m.first);
  const most = (g: LedgerGroup): number => Math.max(...g.rows.map((row) => (row.differs ? 1e12 : 1) * moved(row)));
  const sorted = [...groups.values()].sort((a, b) => most(b) - most(a));
  sorted.forEach((g) => g.rows.sort((a, b) => Number(b.differs) - Number(a.differs) || moved(b) - moved(a)));
  return sorted;
}

/** How a measure was judged, in words. */
export function judged(measure: Measure): string {
  if (measure.differs) return "differs";
  return measure.held && measure.held.p_value !== null ? "within what varies" : "no test";
}
