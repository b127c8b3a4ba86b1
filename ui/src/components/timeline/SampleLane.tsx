// A lane of samples: a row for each thread, its height the share of the time that samples stand
// for, cut into layers.

import { useEffect, useRef } from "preact/hooks";

import type { Detail, Page } from "../../context";
import { quantity, share } from "../../format";
import { LAYER_INKS, LAYERS, layersIn, layersOf, type SampleLane } from "../../samples/lane";
import { ink } from "../../theme";
import { drawInSight } from "./insight";
import { drawPixels, packed, paintStacked, type Stacked } from "./stacked";

export const SAMPLE_ROW = 16;
/** The title stands above the rows: 1.5rem of 15 pixels, as in style/timeline.css. */
export const TOP = 22.5;
/** Pixels of a row that are filled when a thread did nothing else. */
export const FULL = 14;

export function SamplePlot({ lane, page, theme }: { lane: SampleLane; page: Page; theme: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const height = lane.rows.length * SAMPLE_ROW + 4;
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const inks = LAYER_INKS.map((name) => packed(ink(name)));
    const line = packed(ink("line"));
    const redraw = (): void =>
      drawPixels(element, (pixels, width) => paintStacked(pixels, width, stacked(lane, page, width, inks, line)));
    page.handles.set(lane.id, {
      describe: (t, y, perPixel) => describe(lane, page, t, Math.floor((y - TOP) / SAMPLE_ROW), perPixel),
      step: () => null,
    });
    const stop = drawInSight(element, page, redraw);
    return () => {
      stop();
      page.handles.delete(lane.id);
    };
  }, [lane, page, theme]);
  return <canvas class="span-plot" ref={canvas} style={{ height: `${height}px` }} aria-hidden="true" />;
}

function stacked(lane: SampleLane, page: Page, width: number, inks: number[], line: number): Stacked {
  const { from, to } = page.view;
  const cells = layersOf(lane, from, to, width);
  const L = LAYERS.length;
  // Times fill a row when they are as long as the column; other weights when they are the
  // most of all columns.
  let most = 0;
  if (lane.unit !== "ns") {
    for (let at = 0; at < cells.length; at += L) {
      let sum = 0;
      for (let l = 0; l < L; l++) sum += cells[at + l];
      most = Math.max(most, sum);
    }
  }
  const whole = (row: number): number => (lane.unit === "ns" ? ((to - from) / width) * lane.rows[row].threads : most);
  return { rows: lane.rows.length, rowHeight: SAMPLE_ROW, full: FULL, inks, cells, whole, line };
}

function describe(lane: SampleLane, page: Page, t: number, row: number, perPixel: number): Detail | null {
  const shown = lane.rows[row];
  if (!shown) return null;
  const [from, to] = [t - 2 * perPixel, t + 3 * perPixel];
  const layers = layersIn(lane, row, from, to);
  const sum = layers.reduce((a, b) => a + b, 0);
  const unit = lane.unit === "count" ? "" : lane.unit;
  const facts: [string, string][] = [["around", page.moment(t)]];
  LAYERS.forEach(
    (name, l) => layers[l] > 0 && facts.push([name, `${quantity(layers[l], unit)}, ${share(layers[l] / sum)}`]),
  );
  if (sum === 0) facts.push([lane.kind.kind, "no sample"]);
  return { title: shown.name, facts };
}
