// A lane of lines, drawn by uPlot, fed with as many points as there are pixels.

import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

import type { Detail, Page } from "../../context";
import { decimate, indexBefore, raw } from "../../decimate";
import { axisQuantity, quantity } from "../../format";
import { lineInk } from "../../inks";
import type { LineLane } from "../../model";
import { ink } from "../../theme";
import { drawInSight } from "./insight";

/** Pixels for the figures of the axis, left of the plot. */
export const AXIS = 64;
export const LINE_HEIGHT = 92;

export function LinePlot({ lane, page, theme }: { lane: LineLane; page: Page; theme: string }) {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    // Made when it is first drawn.
    let plot: uPlot | null = null;
    const redraw = (): void => {
      const width = element.clientWidth;
      const data = points(lane, page, width);
      if (plot === null) plot = new uPlot(options(lane, width), data, element);
      else if (width !== plot.width) plot.setSize({ width, height: LINE_HEIGHT });
      const made = plot;
      // Where lines are dense, strokes wider than a pixel look the same and cost a lot: 36 ms a
      // frame and not 9.5 in the browser test, whose canvas is drawn without a graphics card.
      const dense = data[0].length > width;
      lane.lines.forEach((line, i) => (made.series[i + 1].width = dense ? 1 : line.main ? 1.75 : 1.25));
      made.batch(() => {
        made.setData(data, false);
        made.setScale("x", { min: page.view.from, max: page.view.to });
      });
    };
    page.handles.set(lane.id, {
      describe: (t) => describe(lane, page, t),
      step: () => null,
    });
    const stop = drawInSight(element, page, redraw);
    return () => {
      stop();
      page.handles.delete(lane.id);
      plot?.destroy();
    };
  }, [lane, page, theme]);
  return <div class="line-plot" ref={host} style={{ minHeight: `${LINE_HEIGHT}px` }} aria-hidden="true" />;
}

function points(lane: LineLane, page: Page, width: number): uPlot.AlignedData {
  const { from, to } = page.view;
  // Closer than a pixel and a half, lines run into one another.
  const columns = Math.max(50, Math.floor((width - AXIS) / 1.5));
  const few = lane.lines.map((line) => raw(line, from, to, 2 * columns));
  if (few.every((table) => table !== null)) {
    const tables = few as uPlot.AlignedData[];
    return tables.length === 1 ? tables[0] : uPlot.join(tables);
  }
  const { t, rows } = decimate(lane.lines, from, to, columns);
  return [t, ...rows] as uPlot.AlignedData;
}

function options(lane: LineLane, width: number): uPlot.Options {
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  return {
    width,
    height: LINE_HEIGHT,
    padding: [8, 0, 4, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, auto: false },
      y: { range: (_u, low, high) => yRange(lane, low, high) },
    },
    axes: [
      { show: false },
      {
        size: AXIS,
        gap: 6,
        font: "11px Inter, ui-sans-serif, system-ui, sans-serif",
        stroke: () => ink("faint"),
        grid: { stroke: () => ink("line"), width: 1 },
        ticks: { show: false },
        space: 26,
        // Bytes in steps that are round in the units of the JVM.
        ...(lane.unit === "bytes" ? { incrs: Array.from({ length: 46 }, (_, i) => 2 ** i) } : {}),
        values: (_u, splits) => splits.map((s) => axisQuantity(s, lane.unit)),
      },
    ],
    series: [
      {},
      ...lane.lines.map((line, i): uPlot.Series => {
        // Asked for at each drawing: the theme may have changed.
        const colour = line.main ? "ink" : lineInk(i);
        return {
          label: line.name,
          stroke: () => ink(colour),
          width: line.main ? 1.75 : 1.25,
          ...(lane.lines.length === 1 || lane.steps ? { fill: () => ink(`${colour}-wash`) } : {}),
          ...(lane.steps && stepped ? { paths: stepped } : {}),
          points: { show: false },
        };
      }),
    ],
  };
}

/** From zero, because a dip is only as deep as it is; latency and heap likewise. */
function yRange(lane: LineLane, low: number, high: number): [number, number] {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  const top = high > 0 ? high * 1.08 : 0;
  const bottom = low < 0 ? low * 1.08 : 0;
  return top > bottom ? [bottom, top] : [0, lane.unit === "bytes" ? 1024 : 1];
}

function describe(lane: LineLane, page: Page, t: number): Detail | null {
  const facts: [string, string][] = [];
  for (const line of lane.lines) {
    const i = indexBefore(line.t, t);
    if (i < 0) continue;
    facts.push([line.name, Number.isNaN(line.v[i]) ? "no value" : quantity(line.v[i], lane.unit)]);
  }
  return facts.length === 0 ? null : { title: `${lane.title} at ${page.moment(t)}`, facts };
}
