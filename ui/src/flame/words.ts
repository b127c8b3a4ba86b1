// A frame in words: for tooltip, details, screen reader and clipboard.

import { quantity, share } from "../format";
import { type Change, change, type FlameData } from "./data";
import { pathTo } from "./layout";
import { look } from "./looks";

export function weight(data: Pick<FlameData, "unit">, value: number): string {
  return quantity(value, data.unit === "count" ? "" : data.unit);
}

/** A share of one as a person reads it, never "" for nothing. */
export function part(value: number, of: number): string {
  return of > 0 ? share(value / of) : "–";
}

/** A difference with its sign: "+1.2 s (+34%)". */
export function difference(data: Pick<FlameData, "unit">, c: Change): string {
  const sign = c.difference < 0 ? "−" : "+";
  const size = `${sign}${weight(data, Math.abs(c.difference))}`;
  if (c.added) return `${size} (new)`;
  if (c.vanished) return `${size} (gone)`;
  const by = share(Math.abs(c.difference) / c.base);
  return by === "" ? size : `${size} (${sign}${by})`;
}

export function verdict(c: Change): string {
  switch (c.verdict) {
    case "more":
      return "more, beyond noise";
    case "less":
      return "less, beyond noise";
    case "noise":
      return "within noise";
    case "too-few":
      return "too few samples to judge";
  }
}

/** Facts of a frame, each with its unit. `shown` is the weight of the zoomed part. */
export function facts(data: FlameData, node: number, shown: number): [string, string][] {
  const whole = data.total[0];
  const rows: [string, string][] = [["type", look(data.type[node]).means]];
  const module = data.modules[data.name[node]];
  if (module) rows.push(["in", module]);
  const kinds = mixed(data, node);
  if (kinds) rows.push(["ran as", kinds]);
  const shares = (value: number): string =>
    shown < whole ? `${part(value, whole)} of all, ${part(value, shown)} of what is shown` : part(value, whole);
  rows.push(["total", `${weight(data, data.total[node])}, ${shares(data.total[node])}`]);
  rows.push(["self", `${weight(data, data.self[node])}, ${part(data.self[node], whole)}`]);
  const total = change(data, node, "total");
  if (total)
    rows.push(["total, baseline", `${weight(data, total.base)}; ${difference(data, total)}, ${verdict(total)}`]);
  const self = change(data, node, "self");
  if (self) rows.push(["self, baseline", `${weight(data, self.base)}; ${difference(data, self)}, ${verdict(self)}`]);
  return rows;
}

function mixed(data: FlameData, node: number): string | null {
  const { mix, type } = data;
  if (!mix || type[node] > 3) return null;
  const kinds: [string, number][] = [
    ["C2", mix.c2[node]],
    ["C1", mix.c1[node]],
    ["inlined", mix.inlined[node]],
    ["interpreted", mix.interpreted[node]],
  ];
  const present = kinds.filter(([, value]) => value > 0).sort((a, b) => b[1] - a[1]);
  if (present.length < 2) return null;
  const sum = present.reduce((a, [, value]) => a + value, 0);
  return present.map(([name, value]) => `${name} ${part(value, sum)}`).join(", ");
}

/** The stack down to a frame, callers first, one a line: what is copied. */
export function stackText(data: FlameData, node: number): string {
  return pathTo(data, node)
    .slice(1)
    .map((i) => data.names[data.name[i]])
    .join("\n");
}
