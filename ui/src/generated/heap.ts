// Generated from the code: `FATHOM_BLESS=1 cargo test -p fathom-render typescript`.

import type { ColumnId } from "./payload";

export const HEAP_SCHEMA = "fathom.heap-page/1" as const;

export const SORTS = ["all", "application", "jdk", "data", "class", "loader", "thread"] as const;

/** An address in two halves, because a page counts exactly to 2⁵³ only. */
export type Address = {
  low: ColumnId;
  high: ColumnId;
};

export type Buffers = {
  title: string;
  owners: Array<Owner>;
  unreachable: number;
};

export type Counted = {
  what: string;
  count: number;
};

export type Header = {
  schema: string;
  version: string;
  file: string;
  headline: string;
  about: string;
  notes: Array<string>;
  size: Size;
  least_bytes: number;
  names: Array<string>;
  texts: Array<string>;
  tree: Tree;
  steps: Steps;
  holders: Array<Held>;
  classes: Rows;
  packages: Rows;
  loaders: Rows;
  threads: Array<Thread>;
  threads_left_out: number;
  waste: Array<Waste>;
  references: Array<Counted>;
  buffers: Buffers;
  roots: Array<Counted>;
};

/** A holder as the terminal shows it. */
export type Held = {
  sentence: string;
  judged: string;
  suspect: boolean;
  accumulates_in: string | null;
  objects: number;
  retained: number;
  node: number | null;
  way: number | null;
};

export type Owner = {
  name: string;
  count: number;
  bytes: number;
};

/** Groups of objects by name. */
export type Rows = {
  name: ColumnId;
  objects: ColumnId;
  shallow: ColumnId;
  retained: ColumnId;
  /** Groups that keep less than these, with their objects and bytes of their own. */
  left_out: number;
  left_out_objects: number;
  left_out_shallow: number;
};

/** Totals of a heap. */
export type Size = {
  /** Objects that can be reached. */
  objects: number;
  /** Their bytes. */
  bytes: number;
  /** Objects that nothing reaches. */
  unreachable_objects: number;
  /** Their bytes. */
  unreachable_bytes: number;
};

/** The steps of all ways, each behind the one before it. */
export type Steps = {
  /** The step before; −1: the first. */
  before: ColumnId;
  left_out: ColumnId;
  name: ColumnId;
  /** How it is referred to, among the texts, and one more; 0: not known. */
  edge: ColumnId;
  weak: ColumnId;
  address: Address;
  /** Why it is held, among the texts, and one more; 0: by the step before. */
  root: ColumnId;
};

export type Thread = {
  name: string;
  class: string;
  address: string;
  retained: number;
  stack: number;
  frame: string;
  frame_bytes: number;
  top: string;
  node: number | null;
};

/** The dominator tree. What a node retains is the sum of what is in it, and is not written. */
export type Tree = {
  /** The node above; −1 at the top. */
  parent: ColumnId;
  name: ColumnId;
  sort: ColumnId;
  objects: ColumnId;
  chained: ColumnId;
  own: ColumnId;
  folded_objects: ColumnId;
  folded_classes: ColumnId;
  folded_bytes: ColumnId;
  address: Address;
  /** The last step of its way and one more; 0: it has none of its own. */
  way: ColumnId;
};

export type Waste = {
  what: string;
  count: number;
  bytes: number;
  meaning: string;
};
