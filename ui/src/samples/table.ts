// The samples of a page in typed arrays. Written by crates/render/src/samples/.

import { type Header, type Kind, SAMPLES_SCHEMA, type ThreadHeader } from "../generated/samples";
import { inflate, readHeaderAndColumns } from "../payload";
import { type Merged, merge } from "./merge";

/** The tree of stacks: a node is a frame with its caller; callers stand before their callees. */
export interface Stacks {
  /**
   * Names of frames, by name id; behind the frames' stand the threads', then "no thread" and "all".
   */
  names: string[];
  modules: string[];
  /** How many are of frames. */
  frameNames: number;
  /** The caller's node, -1 at the root. */
  parent: Int32Array;
  name: Int32Array;
  /** Code of FRAME_TYPES. */
  type: Uint8Array;
  /** The same without types: a method is one whether it was interpreted or compiled. */
  merged: Merged;
}

/** All samples of one kind, in order of time. */
export interface SampleKind extends Pick<Kind, "kind" | "unit" | "samples" | "note"> {
  /** Nanoseconds from the origin of the lanes. */
  t: Float64Array;
  /** Node of the stack, 1-based; 0 is none. */
  node: Int32Array;
  /** Thread, 1-based; 0 is none. */
  thread: Int32Array;
  weight: Float64Array;
}

export interface SampleTable {
  threads: ThreadHeader[];
  stacks: Stacks;
  kinds: SampleKind[];
}

/** Unpacks the text of the samples' script tag. */
export async function decodeSamples(base64: string): Promise<SampleTable> {
  return readSamples(await inflate(base64));
}

export function readSamples(bytes: Uint8Array): SampleTable {
  const { header, columns } = readHeaderAndColumns<Header>(bytes, SAMPLES_SCHEMA);
  const { threads } = header;
  const kinds = header.kinds.map((raw): SampleKind => {
    const t = columns[raw.t];
    if (header.unit_ns !== 1) for (let i = 0; i < t.length; i++) t[i] *= header.unit_ns;
    const [nodes, rank] = [columns[raw.nodes], columns[raw.rank]];
    const node = new Int32Array(t.length);
    for (let i = 0; i < node.length; i++) node[i] = nodes[rank[i]];
    const weight = raw.weights === null ? new Float64Array(t.length).fill(raw.weight ?? 0) : columns[raw.weights];
    if (raw.weight_unit !== 1) for (let i = 0; i < weight.length; i++) weight[i] *= raw.weight_unit;
    return {
      kind: raw.kind,
      unit: raw.unit,
      samples: raw.samples,
      note: raw.note,
      t,
      node,
      thread: new Int32Array(columns[raw.thread]),
      weight,
    };
  });
  return { threads, kinds, stacks: readStacks(header, columns, threads) };
}

function readStacks({ stacks: raw }: Header, columns: Float64Array[], threads: ThreadHeader[]): Stacks {
  const distance = columns[raw.parent];
  // A distance that leads to before the first node is "no caller".
  const parent = Int32Array.from(distance, (d, i) => i - d);
  const name = new Int32Array(columns[raw.name]);
  const names = [...raw.names, ...threads.map((t) => t.name), "no thread known", "all"];
  const modules = names.map((_, i) => (i < raw.names.length ? raw.modules[columns[raw.module_of][i]] : ""));
  return {
    names,
    modules,
    frameNames: raw.names.length,
    parent,
    name,
    type: new Uint8Array(columns[raw.type]),
    merged: merge(parent, name),
  };
}
