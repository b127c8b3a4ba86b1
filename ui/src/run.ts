// What of a run the timeline can show, and where it opens.

import type { Diagnosis, Window } from "./generated/diagnosis";
import type { Lanes } from "./model";
import type { Range } from "./view";

/** Inputs that lie farther apart than this could not be placed on one clock. */
const MONTH_NS = 30 * 86_400e9;
/** Less than this share of all outside of what was recorded is not worth a view of its own. */
const LEAST_OUTSIDE = 0.01;

/** From the first beginning to the last end, from the origin; null of none. */
function extent(windows: Window[], originNs: number): Range | null {
  if (windows.length === 0) return null;
  return {
    from: Math.min(...windows.map((w) => w.from_ns)) - originNs,
    to: Math.max(...windows.map((w) => w.to_ns)) - originNs,
  };
}

/**
 * All that can be shown: the whole run; where inputs that could not be placed lie years apart, the
 * windows that were looked at.
 */
export function homeOf({ windows }: Diagnosis, { from, to, originNs }: Lanes): Range {
  const looked = extent([...windows.slow, ...windows.base], originNs);
  if (to - from < MONTH_NS || looked === null) return { from, to: Math.max(to, from + 1e6) };
  const margin = (looked.to - looked.from) * 0.2;
  return { from: looked.from - margin, to: looked.to + margin };
}

/**
 * What is shown first: the time that was recorded, with the windows of the verdict. A wait may have
 * begun long before anybody looked, and a series go on after.
 */
export function openingOf(diagnosis: Diagnosis, lanes: Lanes): Range {
  const home = homeOf(diagnosis, lanes);
  const { recorded, originNs } = lanes;
  if (recorded.to <= recorded.from) return home;
  const looked = extent([...diagnosis.windows.slow, ...diagnosis.windows.base], originNs) ?? recorded;
  const opening = {
    from: Math.max(home.from, Math.min(recorded.from, looked.from)),
    to: Math.min(home.to, Math.max(recorded.to, looked.to)),
  };
  const outside = home.to - home.from - (opening.to - opening.from);
  return outside < LEAST_OUTSIDE * (home.to - home.from) || opening.to <= opening.from ? home : opening;
}
