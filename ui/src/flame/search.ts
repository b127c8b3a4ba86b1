// Search: which names match, and what share of the graph they cover.

import type { FlameData } from "./data";

export interface Matches {
  /** By name id. */
  names: Uint8Array;
  /** All nodes that match, also outside of the zoomed part: they are stepped through one by one. */
  nodes: number[];
  /**
   * Weight below matching frames of the zoomed part, each sample once however many
   * of its frames match.
   */
  weight: number;
  /** Of how many names. */
  count: number;
}

/** A regular expression as it is typed: case is ignored unless there is a capital letter. */
export function expression(text: string): RegExp | null {
  if (text === "") return null;
  try {
    return new RegExp(text, /\p{Lu}/u.test(text.replace(/\\\w/g, "")) ? "u" : "iu");
  } catch {
    return null;
  }
}

export function search(data: FlameData, pattern: RegExp, within = 0): Matches {
  const names = Uint8Array.from(data.names, (name, i) =>
    Number(pattern.test(name) || pattern.test(`${data.modules[i]}!${name}`)),
  );
  const { parent, name, total } = data;
  const inside = new Uint8Array(parent.length);
  const covered = new Uint8Array(parent.length);
  const nodes: number[] = [];
  let weight = 0;
  for (let i = 0; i < parent.length; i++) {
    const matches = i > 0 && names[name[i]] === 1;
    if (matches) nodes.push(i);
    inside[i] = Number(i === within || (parent[i] >= 0 && inside[parent[i]] === 1));
    if (!inside[i]) continue;
    const above = i !== within && covered[parent[i]] === 1;
    covered[i] = Number(above || matches);
    if (matches && !above) weight += total[i];
  }
  return { names, nodes, weight, count: names.reduce((a, b) => a + b, 0) };
}

/** An expression for one name, or for its beginning where it is too long to be typed. */
export function exactly(name: string): string {
  const LONGEST = 300;
  const text = name.slice(0, LONGEST).replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return name.length > LONGEST ? `^${text}` : `^${text}$`;
}
