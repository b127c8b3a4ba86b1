// What each thread did: a row for each, filled by layers while it ran and by
// causes while it waited.

import { useEffect, useMemo, useRef } from "preact/hooks";
import { categoryLook } from "../../categories";
import type { Detail, Page } from "../../context";
import { duration, share } from "../../format";
import { levels, type StateLane, statesIn, usedCategories } from "../../states";
import { ink } from "../../theme";
import { drawInSight } from "./insight";
import { FULL, SAMPLE_ROW, TOP } from "./SampleLane";
import { drawPixels, packed } from "./stacked";

export function StatePlot({ lane, page, theme }: { lane: StateLane; page: Page; theme: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  // Idle time lies on top, so that what was done stands on the ground.
  const order = useMemo(() => usedCategories(lane), [lane]);
  const filled = useMemo(() => levels(lane, order, FULL), [lane, order]);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const inks = order
      .map((h) => categoryLook(lane.categories[h]) ?? { ink: "quiet", hatch: 0 as const })
      .map((look) => ({ colour: packed(ink(look.ink)), hatch: look.hatch }));
    const [line, sheet] = [packed(ink("line")), packed(ink("paper"))];
    const slices = lane.edges.length - 1;
    const edge = new Int32Array(slices + 1);
    const paint = (pixels: Uint32Array, width: number): void => {
      const { from, to } = page.view;
      for (let s = 0; s <= slices; s++)
        edge[s] = Math.min(width, Math.max(0, Math.round(((lane.edges[s] - from) / (to - from)) * width)));
      for (let row = 0; row < lane.rows.length; row++) {
        const bottom = (row + 1) * SAMPLE_ROW - 1;
        pixels.fill(line, bottom * width, bottom * width + width);
        for (let y = 0; y < FULL; y++) {
          const at = (bottom - 1 - y) * width;
          // Neighbouring slices are often filled alike: one run of pixels for all of them.
          for (let s = 0, next = 0; s < slices; s = next) {
            const p = filled[(row * slices + s) * FULL + y];
            for (next = s + 1; next < slices && filled[(row * slices + next) * FULL + y] === p; next++);
            if (p === 255 || edge[s] === edge[next]) continue;
            const { colour, hatch } = inks[p];
            if (hatch === 0) pixels.fill(colour, at + edge[s], at + edge[next]);
            else
              for (let x = edge[s]; x < edge[next]; x++) pixels[at + x] = ((x + hatch * y) & 3) === 0 ? sheet : colour;
          }
        }
      }
    };
    const redraw = (): void => drawPixels(element, paint);
    page.handles.set(lane.id, {
      describe: (t, y, perPixel) => describe(lane, page, t, Math.floor((y - TOP) / SAMPLE_ROW), perPixel),
      step: () => null,
    });
    const stop = drawInSight(element, page, redraw);
    return () => {
      stop();
      page.handles.delete(lane.id);
    };
  }, [lane, page, theme, order, filled]);
  return (
    <canvas
      class="span-plot"
      ref={canvas}
      style={{ height: `${lane.rows.length * SAMPLE_ROW + 4}px` }}
      aria-hidden="true"
    />
  );
}

function describe(lane: StateLane, page: Page, t: number, row: number, perPixel: number): Detail | null {
  const shown = lane.rows[row];
  if (!shown) return null;
  const around = Math.max(2 * perPixel, lane.sliceNs / 2);
  const spent = statesIn(lane, row, t - around, t + around);
  const sum = spent.reduce((a, b) => a + b, 0);
  const facts: [string, string][] = [["around", `${page.moment(t)}, ${duration(2 * around)}`]];
  const order = lane.categories
    .map((_, h) => h)
    .filter((h) => spent[h] > 0)
    .sort((a, b) => spent[b] - spent[a]);
  for (const h of order) facts.push([lane.categories[h], `${duration(spent[h])}, ${share(spent[h] / sum)}`]);
  if (sum === 0) facts.push(["nothing", "it did not live, or nobody watched"]);
  return { title: shown.name, facts, range: { from: t - around, to: t + around } };
}
