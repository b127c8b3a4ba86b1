// The lane on which something lies that the verdict cites.

import { lowerBound } from "./decimate";
import type { Lanes } from "./model";

/**
 * Nanoseconds since 1970 are beyond what a number holds to the last one: moments of the
 * verdict are that far off.
 */
const OFF_NS = 1000;

/**
 * The lane with a span that begins at a moment. Of several the one whose span is of the line that
 * is cited ("gc.log:42"), else of the source; null where there is none.
 */
export function laneOf(lanes: Lanes, t: number, source: string): string | null {
  let best: { id: string; fits: number } | null = null;
  for (const lane of lanes.groups.flatMap((group) => group.lanes)) {
    if (lane.type !== "spans") continue;
    for (let i = lowerBound(lane.t0, t - OFF_NS); i < lane.t0.length && lane.t0[i] <= t + OFF_NS; i++) {
      const name = lanes.sources[lane.source[i]] ?? "";
      const fits = `${name}:${lane.line[i]}` === source ? 2 : name !== "" && source.startsWith(name) ? 1 : 0;
      if (best === null || fits > best.fits) best = { id: lane.id, fits };
    }
  }
  return best?.id ?? null;
}
