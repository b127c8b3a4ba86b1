// When it was slow: the whole run as a strip, with the slow windows and those they are held against, and the wall clock.

import type { Page } from "../context";
import { between, moment } from "../format";
import type { Range } from "../view";

/** Windows that are drawn: more than pixels to draw them in would say no more. */
const DRAWN = 500;

export function When({ page }: { page: Page }) {
  const { windows, zero_ns: zero, wall_clock: onTheClock } = page.diagnosis;
  const { from, to } = page.view.home;
  const length = to - from;
  if (!(length > 0) || windows.slow.length === 0) return null;
  const style = (range: Range) => {
    const [start, end] = [Math.max(range.from, from), Math.min(range.to, to)];
    return { left: `${(100 * (start - from)) / length}%`, width: `${(100 * Math.max(0, end - start)) / length}%` };
  };
  const isCompared = windows.base.length > 0;
  const end = (t: number) => (onTheClock ? page.clock(t).replace(/\.\d+ /, " ") : moment(page.fromZero(t)));
  return (
    <figure class="when" aria-label="When it was slow, of the whole run">
      <div class="when-strip">
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
      </div>
      <figcaption>
        <span>{end(from)}</span>
        <span>{end(to)}</span>
      </figcaption>
    </figure>
  );
}
