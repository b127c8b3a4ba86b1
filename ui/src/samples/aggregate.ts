// From the samples of a window (and of a base) to the call tree that a flame graph is drawn from.

import { type FlameBase, type FlameData, type FlameMix, FRAME_TYPES } from "../flame/data";
import type { Range } from "../view";
import { recursion } from "./merge";
import { type Chosen, choose, type ThreadFilter } from "./select";
import { addUp, errors, limit, type Measured, measure, type Normalisation, widened } from "./significance";
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

  constructor(
    private readonly table: SampleTable,
    private readonly perThread: boolean,
    from?: Places,
  ) {
    this.name = [table.stacks.names.length - 1];
    this.direct = from ? from.direct.slice() : new Int32Array(perThread ? 0 : table.stacks.merged.parent.length);
    if (!from) return;
    this.parent = from.parent.slice();
    this.name = from.name.slice();
    this.node = from.node.slice();
  }

  /**
   * The same places once more, to which others can be added. Not for trees that
   * are divided by thread.
   */
  again(): Places {
    return new Places(this.table, false, this);
  }

  /** The place of each row's stack; 0 is the root, for samples without one. */
  ends(kind: SampleKind, rows: Int32Array): Int32Array {
    const out = new Int32Array(rows.length);
    const { of } = this.table.stacks.merged;
    const { node, thread } = kind;
    if (this.perThread) {
      for (let k = 0; k < rows.length; k++) out[k] = this.ofThread(node[rows[k]], thread[rows[k]]);
      return out;
    }
    const { direct } = this;
    const get = (at: number): number => direct[at];
    const set = (at: number, place: number): void => void (direct[at] = place);
    for (let k = 0; k < rows.length; k++) {
      const typed = node[rows[k]];
      if (typed === 0) continue;
      const at = of[typed - 1];
      out[k] = direct[at] || this.add(at, 0, get, set);
    }
    return out;
  }

  private ofThread(typed: number, thread: number): number {
    const { stacks } = this.table;
    let own = this.byThread.get(thread);
    if (!own) {
      this.parent.push(0);
      this.node.push(-1);
      this.name.push(thread === 0 ? stacks.names.length - 2 : stacks.frameNames + thread - 1);
      this.byThread.set(thread, (own = { top: this.parent.length - 1, places: new Map() }));
    }
    if (typed === 0) return own.top;
    const { places, top } = own;
    const node = stacks.merged.of[typed - 1];
    return (
      places.get(node) ??
      this.add(
        node,
        top,
        (at) => places.get(at) ?? 0,
        (at, place) => void places.set(at, place),
      )
    );
  }

  /** From the leaf up to what is there, then down again. */
  private add(
    node: number,
    top: number,
    get: (node: number) => number,
    set: (node: number, place: number) => void,
  ): number {
    const { merged } = this.table.stacks;
    const path: number[] = [];
    let above = top;
    for (let at = node; at >= 0; at = merged.parent[at]) {
      const there = get(at);
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
      set(path[k], above);
    }
    return above;
  }
}

/** What a base has that does not change while windows are brushed next to it. */
interface BaseSide {
  chosen: Chosen;
  places: Places;
  measured: Measured | null;
  /** Weight by typed node with all below it. */
  weights: Float64Array;
}

/** The last base of each table: a window is brushed many times against one. */
const LAST_BASE = new WeakMap<SampleTable, { key: string; side: BaseSide }>();

function baseSide(table: SampleTable, kind: SampleKind, query: Query): BaseSide {
  const key = JSON.stringify([
    query.kind,
    query.base,
    query.threads && Array.from(query.threads),
    query.perThread,
    query.normalisation,
  ]);
  const last = LAST_BASE.get(table);
  if (last?.key === key) return last.side;
  const chosen = choose(kind, query.base, query.threads);
  const places = new Places(table, query.perThread);
  const ends = places.ends(kind, chosen.rows);
  const measured =
    chosen.rows.length > 0
      ? measure(
          kind,
          new Int32Array(places.parent),
          { chosen, ends, operations: query.operations },
          query.normalisation,
        )
      : null;
  const side = { chosen, places, measured, weights: weigh(table, kind, chosen) };
  // Places of threads grow with the window, so they are not for a second one.
  if (!query.perThread) LAST_BASE.set(table, { key, side });
  return side;
}

export function aggregate(table: SampleTable, query: Query): FlameData {
  const kind = table.kinds[query.kind];
  const base = baseSide(table, kind, query);
  const places = query.perThread ? base.places : base.places.again();
  const here = choose(kind, query.windows, query.threads);
  const ends = places.ends(kind, here.rows);
  const parent = new Int32Array(places.parent);
  const compared = base.measured !== null && here.rows.length > 0;
  const measured = compared
    ? measure(kind, parent, { chosen: here, ends, operations: query.operations }, query.normalisation)
    : null;
  const self = measured?.own ?? weights(kind, here.rows, ends, parent.length);
  const hereWeights = weigh(table, kind, here);
  const node = new Int32Array(places.node);
  const notes = kind.note === "" ? [] : [kind.note];
  if (query.base.length > 0 && base.chosen.rows.length === 0) notes.push("the baseline holds no sample of this kind");
  let mix: FlameMix | null = null;
  return {
    kind: kind.kind,
    unit: kind.unit,
    samples: here.rows.length,
    label: query.label,
    names: table.stacks.names,
    modules: table.stacks.modules,
    parent,
    name: new Int32Array(places.name),
    type: types(table, hereWeights, base.weights, node),
    self,
    total: measured?.total ?? addUp(parent, self),
    // Asked for by details and by the callers' tree alone.
    get mix() {
      return query.perThread ? null : (mix ??= mixOf(table, hereWeights, node));
    },
    get recursive() {
      const merged = recursion(table.stacks.merged);
      const out = new Uint8Array(node.length);
      for (let i = 0; i < node.length; i++) if (node[i] >= 0) out[i] = merged[node[i]];
      return out;
    },
    base: measured && base.measured ? compare(measured, widened(base.measured, parent.length), query) : null,
    notes,
  };
}

/** Weight by place, of what ends in it. */
function weights(kind: SampleKind, rows: Int32Array, ends: Int32Array, places: number): Float64Array {
  const self = new Float64Array(places);
  for (let k = 0; k < rows.length; k++) self[ends[k]] += kind.weight[rows[k]];
  return self;
}

function compare(a: Measured, b: Measured, query: Query): FlameBase | null {
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

/** Weight by typed node, with all that was called. */
function weigh(table: SampleTable, kind: SampleKind, { rows }: Chosen): Float64Array {
  const { parent } = table.stacks;
  const sum = new Float64Array(parent.length);
  const { node, weight } = kind;
  for (let k = 0; k < rows.length; k++) {
    const at = node[rows[k]];
    if (at > 0) sum[at - 1] += weight[rows[k]];
  }
  for (let i = parent.length - 1; i >= 0; i--) if (parent[i] >= 0) sum[parent[i]] += sum[i];
  return sum;
}

/** The type of each place that took most. */
function types(table: SampleTable, here: Float64Array, base: Float64Array, node: Int32Array): Uint8Array {
  const { stacks } = table;
  const { of } = stacks.merged;
  const heaviest = new Float64Array(stacks.merged.parent.length).fill(-1);
  const typeOf = new Uint8Array(heaviest.length);
  for (let i = 0; i < of.length; i++) {
    const all = here[i] + base[i];
    if (all > heaviest[of[i]]) {
      heaviest[of[i]] = all;
      typeOf[of[i]] = stacks.type[i];
    }
  }
  const type = new Uint8Array(node.length);
  for (let i = 0; i < node.length; i++) type[i] = node[i] < 0 ? GROUP : typeOf[node[i]];
  return type;
}

/** How much each kind of Java took at each place (for one tree of all threads). */
function mixOf(table: SampleTable, here: Float64Array, node: Int32Array): FlameMix {
  const { stacks } = table;
  const { of } = stacks.merged;
  const place = new Int32Array(stacks.merged.parent.length).fill(-1);
  for (let i = 0; i < node.length; i++) if (node[i] >= 0) place[node[i]] = i;
  const columns = Array.from({ length: JAVA }, () => new Float64Array(node.length));
  for (let i = 0; i < of.length; i++)
    if (stacks.type[i] < JAVA && here[i] > 0 && place[of[i]] >= 0) columns[stacks.type[i]][place[of[i]]] += here[i];
  const [interpreted, c1, c2, inlined] = columns;
  return { interpreted, c1, c2, inlined };
}
