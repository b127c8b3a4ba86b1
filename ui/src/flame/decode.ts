// Flame graphs as they are in a page, in the coding of ../payload.ts. Written by
// crates/render/src/flame/page.rs.

import { FLAME_SCHEMA, type Graph, type Header } from "../generated/flame";
import { inflate, readHeaderAndColumns } from "../payload";
import { type FlameData, totals } from "./data";

export interface FlamePage extends Pick<Header, "version" | "title" | "about" | "inverted"> {
  graphs: FlameData[];
}

export async function decodeFlame(base64: string): Promise<FlamePage> {
  return readFlame(await inflate(base64));
}

export function readFlame(bytes: Uint8Array): FlamePage {
  const { header, columns } = readHeaderAndColumns<Header>(bytes, FLAME_SCHEMA);
  const { version, title, about, inverted, names } = header;
  const modules = Array.from(columns[header.module_of], (id) => header.modules[id]);
  const graphs = header.graphs.map((raw: Graph): FlameData => {
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
