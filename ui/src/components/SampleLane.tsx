// A lane of samples: a row for each thread, its height the share of the time that samples stand for, cut into layers.

import { useEffect, useRef } from "preact/hooks";

import type { Detail, Page } from "../context";
import { quantity, share } from "../format";
import { LAYER_INKS, LAYERS, layersIn, layersOf, type SampleLane } from "../samples/lane";
import { ink } from "../theme";
import { channels } from "./Heatmap";

export const SAMPLE_ROW = 16;
/** The title stands above the rows: 1.5rem of 15 pixels, as in style.css. */
const TOP = 22.5;
/** Pixels of a row that are filled when a thread did nothing else. */
const FULL = 14;

export function SamplePlot({ lane, page, theme }: { lane: SampleLane; page: Page; theme: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const height = lane.rows.length * SAMPLE_ROW + 4;
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const inks = LAYER_INKS.map((name) => packed(ink(name)));
    const line = packed(ink("line"));
    const redraw = (): void => draw(element, lane, page, inks, line);
    redraw();
    page.handles.set(lane.id, {
      describe: (t, y, perPixel) => describe(lane, page, t, Math.floor((y - TOP) / SAMPLE_ROW), perPixel),
      step: () => null,
    });
    const unsubscribe = page.view.subscribe(redraw);
    return () => {
      unsubscribe();
      page.handles.delete(lane.id);
    };
  }, [lane, page, theme]);
  return <canvas class="span-plot" ref={canvas} style={{ height: `${height}px` }} aria-hidden="true" />;
}

/** A colour as a pixel of an image: alpha, blue, green, red. */
function packed(colour: string): number {
  const [r, g, b] = channels(colour);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

function draw(canvas: HTMLCanvasElement, lane: SampleLane, page: Page, inks: number[], line: number): void {
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  if (width === 0 || height === 0) return;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  if (!context) return;
  const { from, to } = page.view;
  const cells = layersOf(lane, from, to, width);
  const L = LAYERS.length;
  // Times fill a row when they are as long as the column; other weights when they are the most of all columns.
  let most = 0;
  if (lane.unit !== "ns") {
    for (let at = 0; at < cells.length; at += L) {
      let sum = 0;
      for (let l = 0; l < L; l++) sum += cells[at + l];
      most = Math.max(most, sum);
    }
  }
  // An image is written pixel by pixel: a rectangle for each layer of each column would be a hundred thousand of them.
  const image = new ImageData(width, height);
  const pixels = new Uint32Array(image.data.buffer);
  lane.rows.forEach((row, r) => {
    const whole = lane.unit === "ns" ? ((to - from) / width) * row.threads : most;
    const bottom = (r + 1) * SAMPLE_ROW - 1;
    for (let x = 0; x < width; x++) {
      pixels[bottom * width + x] = line;
      let sum = 0;
      let y = bottom - 1;
      const at = (r * width + x) * L;
      for (let l = 0; l < L; l++) {
        sum += cells[at + l];
        // At least a pixel where there is anything, so that a lone sample is seen.
        const top = bottom - Math.min(FULL, Math.ceil((sum / whole) * FULL - 1e-6));
        for (; y >= top; y--) pixels[y * width + x] = inks[l];
      }
    }
  });
  if (ratio === 1) return context.putImageData(image, 0, 0);
  const small = document.createElement("canvas");
  small.width = width;
  small.height = height;
  small.getContext("2d")?.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, canvas.width, canvas.height);
}

function describe(lane: SampleLane, page: Page, t: number, row: number, perPixel: number): Detail | null {
  const told = lane.rows[row];
  if (!told) return null;
  const [from, to] = [t - 2 * perPixel, t + 3 * perPixel];
  const layers = layersIn(lane, row, from, to);
  const sum = layers.reduce((a, b) => a + b, 0);
  const unit = lane.unit === "count" ? "" : lane.unit;
  const facts: [string, string][] = [["around", page.moment(t)]];
  LAYERS.forEach((name, l) => layers[l] > 0 && facts.push([name, `${quantity(layers[l], unit)}, ${share(layers[l] / sum)}`]));
  if (sum === 0) facts.push([lane.kind.kind, "no sample"]);
  return { title: told.name, facts };
}
