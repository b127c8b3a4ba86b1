// Rows of stacked parts, drawn pixel by pixel: a rectangle for each part of each column would be a
// hundred thousand of them.

import { channels } from "../Heatmap";

/** A colour as a pixel of an image: alpha, blue, green, red. */
export function packed(colour: string): number {
  const [r, g, b] = channels(colour);
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** Lets `paint` fill an image of the canvas' size in CSS pixels, and shows it. */
export function drawPixels(canvas: HTMLCanvasElement, paint: (pixels: Uint32Array, width: number) => void): void {
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
  const image = new ImageData(width, height);
  paint(new Uint32Array(image.data.buffer), width);
  if (ratio === 1) {
    context.putImageData(image, 0, 0);
    return;
  }
  const small = document.createElement("canvas");
  small.width = width;
  small.height = height;
  small.getContext("2d")?.putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, canvas.width, canvas.height);
}

export interface Stacked {
  rows: number;
  /** Pixels from one row to the next; the lowest is a line. */
  rowHeight: number;
  /** Pixels of a row that are filled by a column whose parts add up to `whole`. */
  full: number;
  /** Colours of the parts, from the ground up. */
  inks: number[];
  /** `[(row * width + column) * parts + part]`. */
  cells: Float32Array;
  whole: (row: number) => number;
  line: number;
}

/**
 * Columns of pixels cut into parts, from the ground up. The least sum is a pixel high, so that a
 * lone sample is seen.
 */
export function paintStacked(
  pixels: Uint32Array,
  width: number,
  { rows, rowHeight, full, inks, cells, whole, line }: Stacked,
): void {
  const P = inks.length;
  const colours = Uint32Array.from(inks);
  for (let row = 0; row < rows; row++) {
    const perUnit = full / whole(row);
    const bottom = (row + 1) * rowHeight - 1;
    for (let x = 0, at = row * width * P; x < width; x++, at += P) {
      let sum = 0;
      let y = 0;
      let pixel = (bottom - 1) * width + x;
      for (let p = 0; p < P && y < full; p++) {
        const part = cells[at + p];
        if (part === 0) continue;
        sum += part;
        // Rounded up, but for what is only the error of the sum.
        const top = Math.min(full, (sum * perUnit + (1 - 1e-6)) | 0);
        for (; y < top; y++, pixel -= width) pixels[pixel] = colours[p];
      }
    }
    pixels.fill(line, bottom * width, bottom * width + width);
  }
}
