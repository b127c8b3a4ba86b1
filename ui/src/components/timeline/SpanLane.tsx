// A lane of spans on a canvas of its own: pauses, safepoints, compilations, events.

import { useEffect, useRef } from "preact/hooks";

import type { Detail, Page } from "../../context";
import { duration, quantity } from "../../format";
import { classLook, partLook } from "../../inks";
import type { SpanLane } from "../../model";
import { layout, SpanIndex } from "../../spans";
import { ink } from "../../theme";
import { drawInSight } from "./insight";
import { TOP } from "./SampleLane";

/** Of a lane with a row for each thread, whose names stand next to it. */
export const SPAN_ROW = 14;
const SINGLE_ROW = 34;
const MARGIN = 5;

export function spanHeight(lane: SpanLane): number {
  return lane.rows.length > 1 ? lane.rows.length * SPAN_ROW + 4 : SINGLE_ROW + 2 * MARGIN;
}

export function SpanPlot({ lane, page, theme }: { lane: SpanLane; page: Page; theme: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const index = SpanIndex.of(lane);
  const height = spanHeight(lane);
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const redraw = (): void => draw(element, index, page, height);
    page.handles.set(lane.id, {
      describe(t, y, perPixel) {
        const row = lane.rows.length > 1 ? Math.floor((y - TOP) / SPAN_ROW) : 0;
        // Three pixels on either side: small things can be pointed at, too.
        const hit = index.hit(t - 3 * perPixel, t + 3 * perPixel, row);
        return hit && describeSpan(lane, page, hit.index, hit.others);
      },
      step(t, direction) {
        const i = nextSpan(lane, t, direction);
        return i === null ? null : { t: lane.t0[i], detail: describeSpan(lane, page, i, 0) };
      },
    });
    const stop = drawInSight(element, page, redraw);
    return () => {
      stop();
      page.handles.delete(lane.id);
    };
  }, [lane, page, index, height, theme]);
  return <canvas class="span-plot" ref={canvas} style={{ height: `${height}px` }} aria-hidden="true" />;
}

function nextSpan(lane: SpanLane, t: number, direction: 1 | -1): number | null {
  const n = lane.t0.length;
  if (direction === 1) {
    for (let i = 0; i < n; i++) if (lane.t0[i] > t) return i;
  } else {
    for (let i = n - 1; i >= 0; i--) if (lane.t0[i] < t) return i;
  }
  return null;
}

function draw(canvas: HTMLCanvasElement, index: SpanIndex, page: Page, height: number): void {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  if (width === 0) return;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  if (!context) return;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const { lane } = index;
  const looks = lane.classes.map((name, i) => classLook(name, i));
  const parts = [...lane.parts.map((p) => partLook(p.name)), partLook(undefined)];
  const many = lane.rows.length > 1;
  const row = many ? SPAN_ROW : SINGLE_ROW;
  const margin = many ? 0 : MARGIN;
  context.fillStyle = ink("line");
  for (let r = 1; r <= Math.max(1, lane.rows.length); r++)
    context.fillRect(0, margin + r * row - (many ? 1 : 0), width, 1);
  let last = "";
  const fill = (name: string, x: number, y: number, w: number, h: number): void => {
    // Setting a colour parses it, which costs more than the rectangle.
    if (name !== last) context.fillStyle = ink((last = name));
    context.fillRect(x, y, w, h);
  };
  layout(index, page.view.from, page.view.to, width, (x, w, r, cls, part, longestNs) => {
    const look = part < 0 ? (looks[cls] ?? parts[parts.length - 1]) : parts[part];
    const share = index.tall ? index.heightOf(longestNs) * (part < 0 ? 1 : look.height) : look.height;
    const tall = Math.max(2, Math.round((row - (many ? 2 : 0)) * share));
    const top = margin + (r + 1) * row - (many ? 1 : 0) - tall;
    fill(look.ink, x, top, w, tall);
    if (index.tall && part < 0 && look.capped) fill("ink", x - 1, Math.max(0, top - 2), w + 2, 2);
  });
}

/** Everything that is known of a span. */
export function describeSpan(lane: SpanLane, page: Page, i: number, others: number): Detail {
  const { strings, sources } = page.lanes;
  const facts: [string, string][] = [["at", page.moment(lane.t0[i])]];
  const clock = page.clock(lane.t0[i]);
  if (clock !== "") facts.push(["clock", clock]);
  if (lane.duration[i] > 0) facts.push(["lasted", duration(lane.duration[i])]);
  for (const part of lane.parts) if (part.values[i] > 0) facts.push([part.name, duration(part.values[i])]);
  for (const label of lane.labels)
    if (label.values[i] > 0) facts.push([label.name, strings[label.values[i] - 1] ?? ""]);
  for (const fact of lane.facts) {
    if (!Number.isNaN(fact.values[i])) facts.push([fact.name, quantity(fact.values[i], fact.unit)]);
  }
  if (lane.rows.length > 1) facts.push(["on", lane.rows[lane.row[i]] ?? ""]);
  const source = sources[lane.source[i]] ?? "";
  if (source !== "") facts.push(["source", lane.line[i] > 0 ? `${source}:${lane.line[i]}` : source]);
  if (others > 0) facts.push(["at the same pixel", `${others} more here; zoom in to separate them`]);
  const thread = lane.thread ? page.samples.threads[lane.thread[i] - 1] : undefined;
  if (thread && lane.rows.length <= 1) facts.push(["thread", thread.name]);
  const stack = lane.stack?.[i] ?? 0;
  return {
    title: strings[lane.name[i]] || lane.classes[lane.cls[i]] || lane.title,
    facts,
    ...(stack > 0 ? { stack } : {}),
    ...(lane.duration[i] > 0 ? { range: { from: lane.t0[i], to: lane.t0[i] + lane.duration[i] } } : {}),
    ref: { lane, index: i },
  };
}
