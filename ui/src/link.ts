// Addresses: "#t=100..110&at=105.2&w=115..125&b=20..110&k=cpu". Times are seconds from the
// diagnosis' zero, which a reader can write by hand. What an address does not name stays as it is.

import { type Choice, STACK_VIEWS } from "./state";
import type { Range } from "./view";

/** A range and perhaps a moment, seconds from the diagnosis' zero. */
export interface Place {
  from: number;
  to: number;
  at: number | null;
  /** Id of the lane that shows it, where one does. */
  lane?: string | null;
}

export interface Link {
  view: Range | null;
  at: number | null;
  /** Lane to open and to bring into sight. */
  lane?: string;
  /** With windows and base in seconds. */
  choice: Partial<Choice>;
}

/** Windows that a link may hold; more are a mistake or malice. */
const MOST = 64;

export function seconds(value: number, widthS: number): string {
  const decimals = Math.min(9, Math.max(1, Math.ceil(4 - Math.log10(Math.max(widthS, 1e-9)))));
  return value.toFixed(decimals);
}

function range({ from, to }: Range): string {
  return `${seconds(from, to - from)}..${seconds(to, to - from)}`;
}

export function placeToHash(place: Place): string {
  const at = place.at === null ? "" : `&at=${seconds(place.at, place.to - place.from)}`;
  const lane = place.lane ? `&lane=${encodeURIComponent(place.lane)}` : "";
  return `#t=${range(place)}${at}${lane}`;
}

/** The hash of a view with all that was chosen; empty when everything is as it was at first. */
export function write(link: Link): string {
  const { choice } = link;
  const parts: string[] = [];
  const put = (key: string, value: string): void =>
    void parts.push(
      `${key}=${encodeURIComponent(value).replace(/%2C/g, ",").replace(/%3A/g, ":").replace(/%2F/g, "/")}`,
    );
  if (link.view) put("t", range(link.view));
  if (link.at !== null) put("at", seconds(link.at, link.view ? link.view.to - link.view.from : 1));
  if (link.at !== null && link.lane) put("lane", link.lane);
  if (choice.windows) put("w", choice.windows.length === 0 ? "all" : choice.windows.map(range).join(","));
  if (choice.base) put("b", choice.base.length === 0 ? "none" : choice.base.map(range).join(","));
  if (choice.kind) put("k", choice.kind);
  if (choice.threads?.length) put("th", choice.threads.join(","));
  if (choice.perThread) put("per", "thread");
  if (choice.normalisation && choice.normalisation !== "wall") put("n", choice.normalisation);
  if (choice.stackView && choice.stackView !== "flame") put("v", choice.stackView);
  if (choice.heat) put("heat", choice.heat);
  if (choice.table) put("table", choice.table);
  if (choice.sort) put("sort", choice.sort);
  if (choice.filter) put("filter", choice.filter);
  if (choice.ledger) put("ledger", choice.ledger);
  if (choice.ledgerQuiet) put("idle", "shown");
  if (choice.inverted) put("callers", "first");
  if (choice.search) put("find", choice.search);
  const folds = Object.entries(choice.folds ?? {}).map(([id, open]) => `${open ? "+" : "-"}${encodeURIComponent(id)}`);
  if (folds.length > 0) put("f", folds.join(","));
  if (choice.order?.length) put("o", choice.order.map(encodeURIComponent).join(","));
  return parts.length === 0 ? "" : `#${parts.join("&")}`;
}

/** Reads a hash; null when it is none of ours. Whatever is not understood is left out. */
export function read(hash: string): Link | null {
  const link: Link = { view: null, at: null, choice: {} };
  let known = false;
  for (const part of hash.replace(/^#/, "").split("&")) {
    const [key, raw = ""] = part.split("=", 2);
    const apply = READERS[key];
    const value = decoded(raw);
    if (apply && value !== null && apply(link, value)) known = true;
  }
  return known ? link : null;
}

function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}

function rangeOf(text: string): Range | null {
  const match = /^(-?\d+(?:\.\d+)?)\.\.(-?\d+(?:\.\d+)?)$/.exec(text);
  if (!match) return null;
  const [from, to] = [Number(match[1]), Number(match[2])];
  return to > from ? { from, to } : null;
}

function rangesOf(text: string): Range[] | null {
  const ranges = text.split(",").slice(0, MOST).map(rangeOf);
  return ranges.every((r) => r !== null) ? ranges : null;
}

const READERS: Record<string, (link: Link, value: string) => boolean> = {
  t: (link, value) => (link.view = rangeOf(value)) !== null,
  at: (link, value) => {
    link.at = /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : null;
    return link.at !== null;
  },
  lane: (link, value) => Boolean((link.lane = value)),
  w: ({ choice }, value) => {
    const windows = value === "all" ? [] : rangesOf(value);
    if (windows) choice.windows = windows;
    return windows !== null;
  },
  b: ({ choice }, value) => {
    const base = value === "none" ? [] : rangesOf(value);
    if (base) choice.base = base;
    return base !== null;
  },
  k: ({ choice }, value) => Boolean((choice.kind = value)),
  th: ({ choice }, value) =>
    Boolean(
      (choice.threads = value
        .split(",")
        .map(Number)
        .filter((n) => Number.isInteger(n) && n >= 0)),
    ),
  per: ({ choice }, value) => (choice.perThread = value === "thread"),
  n: ({ choice }, value) => {
    if (value !== "share" && value !== "operation" && value !== "wall") return false;
    choice.normalisation = value;
    return true;
  },
  v: ({ choice }, value) => {
    const view = STACK_VIEWS.find((v) => v === value);
    if (view) choice.stackView = view;
    return view !== undefined;
  },
  heat: ({ choice }, value) => Boolean((choice.heat = value)),
  table: ({ choice }, value) => Boolean((choice.table = value)),
  sort: ({ choice }, value) => {
    const known = /^\d{1,3}[ad]$/.test(value);
    if (known) choice.sort = value;
    return known;
  },
  filter: ({ choice }, value) => Boolean((choice.filter = value)),
  ledger: ({ choice }, value) => Boolean((choice.ledger = value)),
  idle: ({ choice }, value) => (choice.ledgerQuiet = value === "shown"),
  callers: ({ choice }, value) => (choice.inverted = value === "first"),
  find: ({ choice }, value) => Boolean((choice.search = value)),
  f: ({ choice }, value) => {
    choice.folds = Object.fromEntries(
      value.split(",").map((text) => [decoded(text.slice(1)) ?? "", text.startsWith("+")]),
    );
    return true;
  },
  o: ({ choice }, value) => Boolean((choice.order = value.split(",").map((id) => decoded(id) ?? ""))),
};
