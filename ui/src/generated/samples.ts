// Generated from the code: `FATHOM_BLESS=1 cargo test -p fathom-render typescript`.

import type { ColumnId } from "./payload";

export const SAMPLES_SCHEMA = "fathom.samples/1" as const;

export type Header = {
  schema: string;
  /** Times count in these from the origin of the lanes. */
  unit_ns: number;
  threads: Array<ThreadHeader>;
  stacks: StacksHeader;
  kinds: Array<Kind>;
};

export type Kind = {
  kind: string;
  unit: string;
  /** In the recording; the page may hold fewer rows, see `note`. */
  samples: number;
  note: string;
  t: ColumnId;
  /**
   * Nodes of the stacks that samples have, 1-based (0 is no stack), the most frequent
   * first.
   */
  nodes: ColumnId;
  /** Place of each sample's stack among these. */
  rank: ColumnId;
  /** One too high: 0 is no thread. */
  thread: ColumnId;
  /** What weights count in. */
  weight_unit: number;
  /** A number that all have, or a column of them. */
  weight: number | null;
  weights: ColumnId | null;
};

/** The role of a thread. */
export type Role = "app" | "gc" | "jit" | "vm" | "other";

/** What of it is in the header. */
export type StacksHeader = {
  names: Array<string>;
  modules: Array<string>;
  module_of: ColumnId;
  parent: ColumnId;
  name: ColumnId;
  type: ColumnId;
};

/** A thread in the header. */
export type ThreadHeader = {
  name: string;
  tid: number | null;
  process: string;
  role: Role;
};
