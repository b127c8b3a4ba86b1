// What the reader has chosen: the window that everything is about, what it is compared with, and
// how it is shown. All of it is in the address, so that a view can be linked.

import type { Normalisation } from "./samples/significance";
import type { Range } from "./view";

export const STACK_VIEWS = ["flame", "order", "changes"] as const;
export type StackView = (typeof STACK_VIEWS)[number];

export interface Choice {
  /** Nanoseconds from the origin of the lanes; null: the verdict's. */
  windows: Range[] | null;
  /** Null: the verdict's; empty: nothing to compare with. */
  base: Range[] | null;
  /** Kind of samples, by its name; empty: the first. */
  kind: string;
  /** Numbers of threads; empty: all. */
  threads: number[];
  perThread: boolean;
  normalisation: Normalisation;
  stackView: StackView;
  /** What the heatmap is of: "samples" or the id of a lane; empty: samples, where there are any. */
  heat: string;
  /** What the table lists, "lane:grouping"; empty: the first. */
  table: string;
  /**
   * How the table's rows are ordered: number of the column and "d" (falling) or "a"; empty:
   * as the table begins.
   */
  sort: string;
  /** What the first column of the table's rows has to hold. */
  filter: string;
  /** How the ledger groups threads; empty: by role. */
  ledger: string;
  /** Whether the ledger shows idle and unseen time. */
  ledgerQuiet: boolean;
  /** Whether the flame graph shows callers below what they called. */
  inverted: boolean;
  /** What is searched for in the flame graph. */
  search: string;
  /**
   * Lanes folded (false) or unfolded by hand, by id; "table:" and the id for the table of a lane.
   */
  folds: Record<string, boolean>;
  /** Ids of the lanes of groups whose order was changed, in their new order. */
  order: string[];
}

export const NOTHING_CHOSEN: Choice = {
  windows: null,
  base: null,
  kind: "",
  threads: [],
  perThread: false,
  normalisation: "wall",
  stackView: "flame",
  heat: "",
  table: "",
  sort: "",
  filter: "",
  ledger: "",
  ledgerQuiet: false,
  inverted: false,
  search: "",
  folds: {},
  order: [],
};

export class State {
  private choice: Choice = NOTHING_CHOSEN;
  private listeners = new Set<() => void>();

  get now(): Choice {
    return this.choice;
  }

  set(change: Partial<Choice>): void {
    this.choice = { ...this.choice, ...change };
    for (const listener of this.listeners) listener();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
