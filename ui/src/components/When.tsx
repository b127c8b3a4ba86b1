// When it was slow: the recorded time with the slow windows, those that they are compared with,
// what the application got done meanwhile where a series says so, and the wall clock.

import { useMemo } from "preact/hooks";

import type { Page } from "../context";
import { CURVE_HEIGHT, CURVE_WIDTH, curveOf, progressLane } from "../curve";
import { between, moment, quantity } from "../format";
import type { Range } from "../view";

/** Windows that are drawn: more than pixels to draw them in would say no more. */
const DRAWN = 500;

export function When({ page }: { page: Page }) {
  const { windows, zero_ns: zero, wall_clock: onTheClock } = page.diagnosis;
  const { from, to } = page.view.opening;
  const curve = useMemo(() => {
    const lane = progressLane(page.lanes.groups);
    const drawn = lane && curveOf(lane, { from, to });
    return drawn && { ...drawn, title: lane.title, unit: lane.unit };
  }, [page, from, to]);
  const length = to - from;
  if (!(length > 0) || (windows.slow.length === 0 && !curve)) return null;
  const style = (range: Range) => {
    const [start, end] = [Math.max(range.from, from), Math.min(range.to, to)];
    return { left: `${(100 * (start - from)) / length}%`, width: `${(100 * Math.max(0, end - start)) / length}%` };
  };
  const isCompared = windows.base.length > 0;
  const end = (t: number) => (onTheClock ? page.clock(t).replace(/\.\d+ /, " ") : moment(page.fromZero(t)));
  return (
    <figure
      class="when"
      aria-label={
        curve ? `${curve.title} over the recording, with the slow windows` : "The slow windows in the recording"
      }
    >
      <div class={curve ? "when-strip with-curve" : "when-strip"}>
        {windows.base.slice(0, DRAWN).map((w, i) => (
          <span key={`b${i}`} class="when-base" style={style(page.toRange(w))} />
        ))}
        {windows.slow.slice(0, DRAWN).map((w, i) => (
          <a
            key={i}
            class={isCompared ? "when-slow" : "when-whole"}
            tabIndex={-1}
            aria-label={between(w.from_ns - zero, w.to_ns - zero)}
            href={page.linkToWindow(w)}
            style={style(page.toRange(w))}
          />
        ))}
        {curve && (
          <svg viewBox={`0 0 ${CURVE_WIDTH} ${CURVE_HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
            <path class="when-area" d={curve.area} />
            <path class="when-line" d={curve.path} vector-effect="non-scaling-stroke" />
          </svg>
        )}
      </div>
      <figcaption>
        <span>{end(from)}</span>
        {curve && (
          <span class="when-of">
            {curve.title}, from 0 to {quantity(curve.top, curve.unit)}
          </span>
        )}
        <span>{end(to)}</span>
      </figcaption>
    </figure>
  );
}
