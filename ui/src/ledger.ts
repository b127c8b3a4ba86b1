// The ledger of a window: slices of the run added up.

import { isQuiet } from "./categories";
import type { LedgerOverTime } from "./model";
import type { Range } from "./view";

export interface LedgerGroup {
  name: string;
  process: string;
  /** Null of the rest together. */
  process_id: number | null;
  /** Nanoseconds by category. */
  spent: Float64Array;
  /** Threads × time that was attributed. */
  total: number;
  /** Of it what was not idle and not unknown. */
  busy: number;
}

/** What groups spent some ranges on. A slice that lies in a range in part counts for that part. */
export function ledgerOf(over: LedgerOverTime, by: string, ranges: Range[]): LedgerGroup[] {
  const grouping = over.groupings.find((g) => g.by === by);
  if (!grouping) return [];
  const H = over.categories.length;
  const quiet = over.categories.map(isQuiet);
  const groups = grouping.groups.map((g): LedgerGroup => ({ ...g, spent: new Float64Array(H), total: 0, busy: 0 }));
  for (let s = 0; s + 1 < over.edges.length; s++) {
    const [from, to] = [over.edges[s], over.edges[s + 1]];
    const within = ranges.reduce((sum, r) => sum + Math.max(0, Math.min(to, r.to) - Math.max(from, r.from)), 0);
    if (within <= 0) continue;
    const share = within / (to - from);
    groups.forEach((group, g) => {
      for (let h = 0; h < H; h++) {
        const ns = grouping.spent[(s * groups.length + g) * H + h] * 1000 * share;
        group.spent[h] += ns;
        group.total += ns;
        if (!quiet[h]) group.busy += ns;
      }
    });
  }
  return groups;
}

/** Whether a range ends within a slice, so that its sums are a share of it. */
export function cutsSlices(over: LedgerOverTime, ranges: Range[]): boolean {
  const edge = (t: number): boolean =>
    over.edges.some((e) => Math.abs(e - t) <= 1000) || t <= over.edges[0] || t >= over.edges[over.edges.length - 1];
  return !ranges.every((r) => edge(r.from) && edge(r.to));
}
