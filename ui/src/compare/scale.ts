// Scales of plots: where a value stands, and round numbers along them.

import { ticks } from "../format";

export interface Scale {
  from: number;
  to: number;
  at: (value: number) => number;
  ticks: number[];
}

/** A scale over some values, with a little room at both ends. `width` in pixels. */
export function scale(values: number[], width: number, wanted = 6): Scale {
  const known = values.filter(Number.isFinite);
  let [low, high] = known.length > 0 ? [Math.min(...known), Math.max(...known)] : [0, 1];
  const room = (high - low) * 0.04 || Math.abs(high) * 0.04 || 1;
  [low, high] = [low - room, high + room];
  const at = (value: number): number => Math.max(0, Math.min(width, ((value - low) / (high - low)) * width));
  return { from: low, to: high, at, ticks: ticks(low, high, wanted) };
}

/** The same for ratios: half and double are as far from 1. */
export function ratioScale(values: number[], width: number): Scale {
  const known = values.filter((v) => Number.isFinite(v) && v > 0);
  const least = Math.min(1, ...known);
  const most = Math.max(1, ...known);
  const room = Math.max(Math.log(most / least) * 0.06, 0.002);
  const [from, to] = [Math.log(least) - room, Math.log(most) + room];
  const at = (value: number): number =>
    value > 0 ? Math.max(0, Math.min(width, ((Math.log(value) - from) / (to - from)) * width)) : 0;
  const [low, high] = [Math.exp(from), Math.exp(to)];
  const steps = high / low > 4 ? decades(low, high) : ticks(low, high, 6);
  return { from: low, to: high, at, ticks: steps };
}

/** 1, 2 and 5 of each power of ten, fewer where there are many. */
function decades(low: number, high: number): number[] {
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
    for (const m of [1, 2, 5]) {
      const tick = m * 10 ** power;
      if (tick >= low && tick <= high) found.push(tick);
    }
  }
  return found.length > 9 ? found.filter((t) => Number.isInteger(Math.log10(t))) : found;
}

/** Where the nth of some points stands across its row, -1 to 1: always the same, never in step. */
export function jitter(n: number): number {
  return ((n * 0.618_033_988_75) % 1) * 2 - 1;
}

/**
 * The letters of all rows, each with the rows that have it: groups that do not
 * differ significantly.
 */
export function groups(letters: string[]): { letter: string; rows: number[] }[] {
  const all = [...new Set(letters.join(""))].sort();
  return all.map((letter) => ({ letter, rows: letters.flatMap((l, i) => (l.includes(letter) ? [i] : [])) }));
}
