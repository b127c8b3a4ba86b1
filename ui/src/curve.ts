// A small curve of what the application got done, as paths within a box of 1000 by 100.

import { decimate, lowerBound, type Row, raw } from "./decimate";
import type { Group, LineLane } from "./model";
import type { Range } from "./view";

export const CURVE_WIDTH = 1000;
export const CURVE_HEIGHT = 100;
/** Room above the highest value. */
const HEADROOM = 8;
/** Places of a curve: about a pixel and a half each where it is widest. */
const COLUMNS = 600;

export interface Curve {
  /** The line, and the area below it. */
  path: string;
  area: string;
  /** The highest value. */
  top: number;
}

/**
 * What shows progress best: throughput, else requests of an access log, else the first
 * series of the application.
 */
export function progressLane(groups: Group[]): LineLane | null {
  const lanes = groups
    .filter((group) => group.name === "Application")
    .flatMap((group) => group.lanes)
    .filter((lane) => lane.type === "lines");
  const called = (name: string): LineLane | undefined => lanes.find((lane) => lane.id.startsWith(`series-all-${name}`));
  return called("throughput") ?? called("requests") ?? lanes[0] ?? null;
}

/** The main line of a lane in a range; null where that has fewer than two values. */
export function curveOf(lane: LineLane, { from, to }: Range): Curve | null {
  const line = lane.lines.find((l) => l.main) ?? lane.lines[0];
  if (!line || lowerBound(line.t, to) - lowerBound(line.t, from) < 1) return null;
  const [t, values] = raw(line, from, to, 2 * COLUMNS) ?? decimated(line, { from, to });
  const known = values.filter((v): v is number => typeof v === "number");
  const top = known.reduce((a, b) => Math.max(a, b), 0);
  if (known.length < 2 || !(top > 0)) return null;
  const x = (at: number): string => short(((at - from) / (to - from)) * CURVE_WIDTH);
  const y = (v: number): string => short(CURVE_HEIGHT - (v / top) * (CURVE_HEIGHT - HEADROOM));
  const runs: string[][] = [[]];
  values.forEach((v, i) => {
    if (typeof v === "number") runs[runs.length - 1].push(`${x(t[i])},${y(v)}`);
    else if (v === null) runs.push([]);
  });
  const drawn = runs.filter((run) => run.length > 0);
  const end = (point: string): string => `${point.split(",")[0]},${CURVE_HEIGHT}`;
  return {
    path: drawn.map((run) => `M${run.join(" L")}`).join(" "),
    area: drawn.map((run) => `M${end(run[0])} L${run.join(" L")} L${end(run[run.length - 1])} Z`).join(" "),
    top,
  };
}

function decimated(line: { t: Float64Array; v: Float64Array }, { from, to }: Range): [number[], Row[]] {
  const { t, rows } = decimate([line], from, to, COLUMNS);
  return [t, rows[0]];
}

/** A tenth of a place is finer than any screen. */
const short = (n: number): string => String(Math.round(n * 10) / 10);
