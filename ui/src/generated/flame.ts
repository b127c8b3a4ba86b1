// Generated from the code: `FATHOM_BLESS=1 cargo test -p fathom-render typescript`.

import type { ColumnId } from "./payload";

export const FLAME_SCHEMA = "fathom.flame-page/1" as const;

export const FRAME_TYPES = ["interpreted", "C1", "C2", "inlined", "stub", "JVM", "native", "kernel", "unknown", "cut", "group"] as const;

export type Base = {
  self: ColumnId;
  scale: number;
  normalised: string;
  self_error: ColumnId;
  total_error: ColumnId;
  self_limit: number | null;
  total_limit: number | null;
  frames: BaseFrames;
  label: string;
};

/** Errors name by name. */
export type BaseFrames = {
  self_error: ColumnId;
  total_error: ColumnId;
  self_limit: number | null;
  total_limit: number | null;
};

export type Graph = {
  kind: string;
  unit: string;
  samples: number;
  label: string;
  notes: Array<string>;
  parent: ColumnId;
  name: ColumnId;
  type: ColumnId;
  self: ColumnId;
  mix: Mix | null;
  base: Base | null;
};

export type Header = {
  schema: string;
  version: string;
  title: string;
  about: string;
  inverted: boolean;
  names: Array<string>;
  modules: Array<string>;
  module_of: ColumnId;
  graphs: Array<Graph>;
};

export type Mix = {
  interpreted: ColumnId;
  c1: ColumnId;
  c2: ColumnId;
  inlined: ColumnId;
};
