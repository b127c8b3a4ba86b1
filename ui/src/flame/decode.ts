// Flame graphs as they stand in a page, in the coding of ../payload.ts. Written by crates/render/src/flame/page.rs.

import { type Column, inflate, readHeaderAndColumns } from "../payload";
import { type FlameData, totals } from "./data";

export const FLAME_SCHEMA = "fathom.flame-page/1";

/** Numbers are places in the list of columns. */
interface RawGraph {
  kind: string;
  unit: FlameData["unit"];
  samples: number;
  label: string;
  notes: string[];
  parent: number;
  name: number;
  type: number;
  self: number;
  mix: { interpreted: number; c1: number; c2: number; inlined: number } | null;
  base: {
    self: number;
    scale: number;
    normalised: string;
    self_error: number;
    total_error: number;
    /** None when nothing is beyond noise. */
    self_limit: number | null;
    total_limit: number | null;
    frames: { self_error: number; total_error: number; self_limit: number | null; total_limit: number | null };
    label: string;
  } | null;
}

interface Header {
  schema: string;
  version: string;
  title: string;
  about: string;
  inverted: boolean;
  names: string[];
  modules: string[];
  /** Column: module of each name. */
  module_of: number;
  graphs: RawGraph[];
  columns: Column[];
}

export interface FlamePage {
  version: string;
  title: string;
  about: string;
  inverted: boolean;
  graphs: FlameData[];
}

export async function decodeFlame(base64: string): Promise<FlamePage> {
  return readFlame(await inflate(base64));
}

export function readFlame(bytes: Uint8Array): FlamePage {
  const { header, columns } = readHeaderAndColumns<Header>(bytes, FLAME_SCHEMA);
  const { version, title, about, inverted, names } = header;
  const modules = Array.from(columns[header.module_of], (id) => header.modules[id]);
  const graphs = header.graphs.map((raw): FlameData => {
    const parent = Int32Array.from(columns[raw.parent]);
    const self = columns[raw.self];
    return {
      kind: raw.kind,
      unit: raw.unit,
      samples: raw.samples,
      label: raw.label,
      notes: raw.notes,
      names,
      modules,
      parent,
      name: Int32Array.from(columns[raw.name]),
      type: Uint8Array.from(columns[raw.type]),
      self,
      total: totals(parent, self),
      mix: raw.mix && {
        interpreted: columns[raw.mix.interpreted],
        c1: columns[raw.mix.c1],
        c2: columns[raw.mix.c2],
        inlined: columns[raw.mix.inlined],
      },
      base: raw.base && {
        self: columns[raw.base.self],
        total: totals(parent, columns[raw.base.self]),
        scale: raw.base.scale,
        normalised: raw.base.normalised,
        selfError: columns[raw.base.self_error],
        totalError: columns[raw.base.total_error],
        selfLimit: raw.base.self_limit ?? Infinity,
        totalLimit: raw.base.total_limit ?? Infinity,
        frames: {
          selfError: columns[raw.base.frames.self_error],
          totalError: columns[raw.base.frames.total_error],
          selfLimit: raw.base.frames.self_limit ?? Infinity,
          totalLimit: raw.base.frames.total_limit ?? Infinity,
        },
        label: raw.base.label,
      },
    };
  });
  return { version, title, about, inverted, graphs };
}
