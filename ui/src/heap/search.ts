// Search: which nodes have a class that matches, and what they retain together.

import type { HeapTree } from "./data";

export interface Matches {
  /** By node, 1 or 0. */
  is: Uint8Array;
  /** Matching nodes of the whole picture, each behind the one above it. */
  nodes: number[];
  /**
   * What matching nodes below `within` retain: a node below another one that matches
   * is not counted again.
   */
  retained: number;
  /** How many nodes below `within` match, and their objects. */
  inside: number;
  objects: number;
}

export function search(tree: HeapTree, pattern: RegExp, within = 0): Matches {
  const names = Uint8Array.from(tree.names, (name) => Number(pattern.test(name)));
  const { parent, name, retained, objects } = tree;
  const n = parent.length;
  const [is, inside, covered] = [new Uint8Array(n), new Uint8Array(n), new Uint8Array(n)];
  const found: Matches = { is, nodes: [], retained: 0, inside: 0, objects: 0 };
  for (let i = 0; i < n; i++) {
    is[i] = Number(i > 0 && name[i] >= 0 && names[name[i]] === 1);
    if (is[i]) found.nodes.push(i);
    inside[i] = Number(i === within || (parent[i] >= 0 && inside[parent[i]] === 1));
    if (!inside[i]) continue;
    const above = i !== within && covered[parent[i]] === 1;
    covered[i] = Number(above || is[i] === 1);
    if (!is[i]) continue;
    found.inside++;
    found.objects += objects[i];
    if (!above) found.retained += retained[i];
  }
  return found;
}
