// The same weights frame by frame instead of path by path, for the table.

import { type Change, compare, type FlameData } from "./data";

export interface FrameRow {
  /** Name id. */
  name: number;
  type: number;
  self: number;
  total: number;
  /** How its own weight and its total compare with the baseline. */
  selfChange: Change | null;
  totalChange: Change | null;
}

/**
 * Every frame once. A frame that calls itself is counted once a sample. Where the baseline has no
 * errors of frames, those of nodes add up as those of independent samples.
 */
export function frames(data: FlameData): FrameRow[] {
  const { parent, name, base } = data;
  const count = data.names.length;
  const [self, total] = [new Float64Array(count), new Float64Array(count)];
  const [baseSelf, baseTotal] = [new Float64Array(count), new Float64Array(count)];
  const [selfVariance, totalVariance] = [new Float64Array(count), new Float64Array(count)];
  const typeOf = new Int32Array(count).fill(-1);
  const heaviest = new Float64Array(count).fill(-1);
  const again = data.recursive ?? null;
  for (let i = 1; i < parent.length; i++) {
    const id = name[i];
    const here = data.total[i];
    self[id] += data.self[i];
    if (here > heaviest[id]) {
      heaviest[id] = here;
      typeOf[id] = data.type[i];
    }
    const once = again ? again[i] === 0 : !recursive(parent, name, i);
    if (once) total[id] += here;
    if (!base) continue;
    const [own, all] = [base.selfError[i], base.totalError[i]];
    baseSelf[id] += base.self[i];
    if (own > 0) selfVariance[id] += own * own;
    if (!once) continue;
    baseTotal[id] += base.total[i];
    if (all > 0) totalVariance[id] += all * all;
  }
  const rows: FrameRow[] = [];
  const judge = (
    id: number,
    here: Float64Array,
    there: Float64Array,
    variance: Float64Array,
    errors: Float64Array | undefined,
    limit: number,
  ): Change =>
    compare(
      here[id],
      there[id] * (base?.scale ?? 1),
      errors ? errors[id] : variance[id] > 0 ? Math.sqrt(variance[id]) : NaN,
      limit,
    );
  for (let id = 0; id < count; id++) {
    if (typeOf[id] < 0) continue;
    rows.push({
      name: id,
      type: typeOf[id],
      self: self[id],
      total: total[id],
      selfChange:
        base && judge(id, self, baseSelf, selfVariance, base.frames?.selfError, (base.frames ?? base).selfLimit),
      totalChange:
        base && judge(id, total, baseTotal, totalVariance, base.frames?.totalError, (base.frames ?? base).totalLimit),
    });
  }
  return rows;
}

function recursive(parent: Int32Array, name: Int32Array, node: number): boolean {
  for (let up = parent[node]; up > 0; up = parent[up]) if (name[up] === name[node]) return true;
  return false;
}
