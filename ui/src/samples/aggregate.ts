// From the samples of a window (and of a base) to the call tree that a flame graph is drawn from.

import { FRAME_TYPES, type FlameBase, type FlameData, type FlameMix } from "../flame/data";
import type { Range } from "../view";
import { choose, type Chosen, type ThreadFilter } from "./select";
import { addUp, errors, limit, measure, type Measured, type Normalisation, type Side } from "./significance";
import type { SampleKind, SampleTable } from "./table";

export interface Query {
  kind: number;
  windows: Range[];
  /** Empty: nothing to compare with. */
  base: Range[];
  threads: ThreadFilter;
  /** A node for each thread below the root. */
  perThread: boolean;
  normalisation: Normalisation;
  /** Operations completed in a range, where they are known. */
  operations: (from: number, to: number) => number;
  /** What the sides are, in words. */
  label: string;
  baseLabel: string;
}

const WORDS: Record<Normalisation, string> = {
  wall: "per second of wall time",
  share: "as a share of all samples",
  operation: "per operation",
};

const GROUP = FRAME_TYPES.indexOf("group");
const JAVA = 4;

/** Places for the nodes that are there, callers first. */
class Places {
  readonly parent: number[] = [-1];
  readonly name: number[];
  /** The node of the merged tree, -1 for root and threads. */
  readonly node: number[] = [-1];
  private readonly direct: Int32Array;
  private readonly byThread = new Map<number, { top: number; places: Map<number, number> }>();

  constructor(private readonly table: SampleTable, private readonly perThread: boolean) {
    this.name = [table.stacks.names.length - 1];
    this.direct = new Int32Array(perThread ? 0 : table.stacks.merged.parent.length);
  }

  /** The place of a sample's stack; 0 is the root, for samples without one. */
  of(typed: number, thread: number): number {
    const { merged } = this.table.stacks;
    if (!this.perThread) return typed === 0 ? 0 : this.find(this.direct, merged.of[typed - 1], 0);
    let own = this.byThread.get(thread);
    if (!own) {
      const { stacks } = this.table;
      this.parent.push(0);
      this.node.push(-1);
      this.name.push(thread === 0 ? stacks.names.length - 2 : stacks.frameNames + thread - 1);
      this.byThread.set(thread, (own = { top: this.parent.length - 1, places: new Map() }));
    }
    return typed === 0 ? own.top : this.find(own.places, merged.of[typed - 1], own.top);
  }

  private find(places: Int32Array | Map<number, number>, node: number, top: number): number {
    const known = (places instanceof Map ? places.get(node) : places[node]) ?? 0;
    if (known > 0) return known;
    const { merged } = this.table.stacks;
    // From the leaf up to what is there, then down again.
    const path: number[] = [];
    let above = top;
    for (let at = node; at >= 0; at = merged.parent[at]) {
      const there = (places instanceof Map ? places.get(at) : places[at]) ?? 0;
      if (there > 0) {
        above = there;
        break;
      }
      path.push(at);
    }
    for (let k = path.length - 1; k >= 0; k--) {
      this.parent.push(above);
      this.node.push(path[k]);
      this.name.push(merged.name[path[k]]);
      above = this.parent.length - 1;
      if (places instanceof Map) places.set(path[k], above);
      else places[path[k]] = above;
    }
    return above;
  }
}

export function aggregate(table: SampleTable, query: Query): FlameData {
  const kind = table.kinds[query.kind];
  const here = choose(kind, query.windows, query.threads);
  const base = choose(kind, query.base, query.threads);
  const places = new Places(table, query.perThread);
  const ends = (chosen: Chosen): Int32Array => {
    const out = new Int32Array(chosen.rows.length);
    for (let k = 0; k < out.length; k++) out[k] = places.of(kind.node[chosen.rows[k]], kind.thread[chosen.rows[k]]);
    return out;
  };
  const sides = { here: ends(here), base: ends(base) };
  const parent = Int32Array.from(places.parent);
  const self = new Float64Array(parent.length);
  for (let k = 0; k < here.rows.length; k++) self[sides.here[k]] += kind.weight[here.rows[k]];
  const { type, mix } = types(table, kind, [here, base], places, !query.perThread);
  const notes = kind.note === "" ? [] : [kind.note];
  if (query.base.length > 0 && base.rows.length === 0) notes.push("the base holds no sample of this kind");
  const compared = base.rows.length > 0 && here.rows.length > 0
    ? compare(kind, parent, { chosen: here, ends: sides.here, operations: query.operations },
        { chosen: base, ends: sides.base, operations: query.operations }, query)
    : null;
  return {
    kind: kind.kind,
    unit: kind.unit,
    samples: here.rows.length,
    label: query.label,
    names: table.stacks.names,
    modules: table.stacks.modules,
    parent,
    name: Int32Array.from(places.name),
    type,
    self,
    total: addUp(parent, self),
    mix,
    base: compared,
    notes,
  };
}

function compare(kind: SampleKind, parent: Int32Array, here: Side, base: Side, query: Query): FlameBase | null {
  const sides: [Measured, Measured] = [measure(kind, parent, here, query.normalisation), measure(kind, parent, base, query.normalisation)];
  const [a, b] = sides;
  const scale = a.denominator / b.denominator;
  if (!(Number.isFinite(scale) && scale > 0)) return null;
  const selfError = errors(a, b, scale, "own");
  const totalError = errors(a, b, scale, "total");
  return {
    self: b.own,
    total: b.total,
    scale,
    normalised: WORDS[query.normalisation],
    selfError,
    totalError,
    selfLimit: limit(a.own, b.own, scale, selfError),
    totalLimit: limit(a.total, b.total, scale, totalError),
    label: query.baseLabel,
  };
}

/** The type of each place that took most, and how much each kind of Java took (for one tree of all threads). */
function types(table: SampleTable, kind: SampleKind, sides: Chosen[], places: Places, withMix: boolean): { type: Uint8Array; mix: FlameMix | null } {
  const { stacks } = table;
  const { of } = stacks.merged;
  const n = stacks.parent.length;
  const weigh = (chosen: Chosen[]): Float64Array => {
    const sum = new Float64Array(n);
    for (const side of chosen) for (const row of side.rows) if (kind.node[row] > 0) sum[kind.node[row] - 1] += kind.weight[row];
    for (let i = n - 1; i >= 0; i--) if (stacks.parent[i] >= 0) sum[stacks.parent[i]] += sum[i];
    return sum;
  };
  const all = weigh(sides);
  const heaviest = new Float64Array(stacks.merged.parent.length).fill(-1);
  const typeOf = new Uint8Array(heaviest.length);
  for (let i = 0; i < n; i++) {
    if (all[i] > heaviest[of[i]]) {
      heaviest[of[i]] = all[i];
      typeOf[of[i]] = stacks.type[i];
    }
  }
  const length = places.parent.length;
  const type = new Uint8Array(length);
  for (let i = 0; i < length; i++) type[i] = places.node[i] < 0 ? GROUP : typeOf[places.node[i]];
  if (!withMix) return { type, mix: null };
  const place = new Int32Array(heaviest.length).fill(-1);
  for (let i = 0; i < length; i++) if (places.node[i] >= 0) place[places.node[i]] = i;
  const columns = Array.from({ length: JAVA }, () => new Float64Array(length));
  const here = weigh([sides[0]]);
  for (let i = 0; i < n; i++) if (stacks.type[i] < JAVA && here[i] > 0 && place[of[i]] >= 0) columns[stacks.type[i]][place[of[i]]] += here[i];
  const [interpreted, c1, c2, inlined] = columns;
  return { type, mix: { interpreted, c1, c2, inlined } };
}
