// The same weights frame by frame instead of path by path, for the table.

import { compare, type Change, type FlameData } from "./data";

export interface FrameRow {
  /** Name id. */
  name: number;
  type: number;
  self: number;
  total: number;
  /** How its own weight and its total compare with the base. */
  selfChange: Change | null;
  totalChange: Change | null;
}

/** Every frame once. A frame that calls itself is counted once a sample. Where the base has no errors of frames, those of
 *  nodes add up as those of independent samples. */
export function frames(data: FlameData): FrameRow[] {
  const { parent, name, base } = data;
  const count = data.names.length;
  const [self, total] = [new Float64Array(count), new Float64Array(count)];
  const [baseSelf, baseTotal] = [new Float64Array(count), new Float64Array(count)];
  const [selfVariance, totalVariance] = [new Float64Array(count), new Float64Array(count)];
  const typeOf = new Int32Array(count).fill(-1);
  const heaviest = new Float64Array(count).fill(-1);
  for (let i = 1; i < parent.length; i++) {
    const id = name[i];
    self[id] += data.self[i];
    if (data.total[i] > heaviest[id]) {
      heaviest[id] = data.total[i];
      typeOf[id] = data.type[i];
    }
    if (base) {
      baseSelf[id] += base.self[i];
      if (base.selfError[i] > 0) selfVariance[id] += base.selfError[i] ** 2;
    }
    if (recursive(parent, name, i)) continue;
    total[id] += data.total[i];
    if (base) {
      baseTotal[id] += base.total[i];
      if (base.totalError[i] > 0) totalVariance[id] += base.totalError[i] ** 2;
    }
  }
  const rows: FrameRow[] = [];
  for (let id = 0; id < count; id++) {
    if (typeOf[id] < 0) continue;
    const judge = (here: Float64Array, there: Float64Array, error: number, limit: number): Change =>
      compare(here[id], there[id] * (base?.scale ?? 1), error, limit);
    const root = (variance: Float64Array): number => (variance[id] > 0 ? Math.sqrt(variance[id]) : NaN);
    rows.push({
      name: id,
      type: typeOf[id],
      self: self[id],
      total: total[id],
      selfChange: base && judge(self, baseSelf, base.frames ? base.frames.selfError[id] : root(selfVariance), (base.frames ?? base).selfLimit),
      totalChange: base && judge(total, baseTotal, base.frames ? base.frames.totalError[id] : root(totalVariance), (base.frames ?? base).totalLimit),
    });
  }
  return rows;
}

function recursive(parent: Int32Array, name: Int32Array, node: number): boolean {
  for (let up = parent[node]; up > 0; up = parent[up]) if (name[up] === name[node]) return true;
  return false;
}
