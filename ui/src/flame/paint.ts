// Draws what is in sight. Frames outside of the canvas and narrower than a third of a
// pixel are passed over with all that is above them, so a graph of a million nodes costs
// what its visible ones do.

import { change, type FlameData } from "./data";
import { type Layout, pathTo } from "./layout";
import { changeLook, look, type Pattern, shorter } from "./looks";

export const ROW = 19;
const SMALLEST_PX = 0.3;
/** Narrower boxes have no room for a letter. */
const LABEL_PX = 24;
const TAG_GAP_PX = 5;

export interface Scene {
  data: FlameData;
  laid: Layout;
  /** The node that fills the width. */
  root: number;
  /** Matching names, or null when nothing is searched for. */
  matches: Uint8Array | null;
  colours: "type" | "change";
  /** First pixel row in sight, width and height of the canvas, in CSS pixels. */
  top: number;
  width: number;
  height: number;
  ink: (name: string) => string;
  font: string;
}

export interface Box {
  node: number;
  x: number;
  y: number;
  w: number;
}

const widths = new Map<string, number>();
let patterns = new Map<string, CanvasPattern | null>();

/** Colours have changed. */
export function forgetPatterns(): void {
  patterns = new Map();
}

/**
 * Draws, and returns how many rows the graph has from the zoomed frame's ancestors to the
 * deepest visible frame.
 */
export function paint(context: CanvasRenderingContext2D, scene: Scene): number {
  const { width, height } = scene;
  context.clearRect(0, 0, width, height);
  context.font = scene.font;
  context.textBaseline = "middle";
  const brush = new Brush(context, scene);
  let deepest = 0;
  visit(scene, (box, depth, above) => {
    deepest = Math.max(deepest, depth);
    if (box.y + ROW <= 0 || box.y >= height) return;
    brush.box(box, above);
  });
  return deepest + 1;
}

/**
 * Calls `each` for every node that is wide enough to be seen, ancestors of the zoomed one first.
 */
function visit(scene: Scene, each: (box: Box, depth: number, above: boolean) => void): void {
  const { data, laid, root, width } = scene;
  const whole = laid.width[root];
  if (!(whole > 0)) return;
  const perUnit = width / whole;
  for (const node of pathTo(data, root).slice(0, -1)) {
    each({ node, x: 0, y: laid.depth[node] * ROW - scene.top, w: width }, laid.depth[node], true);
  }
  const open = [root];
  while (open.length > 0) {
    const node = open.pop() as number;
    const w = laid.width[node] * perUnit;
    const x = (laid.x[node] - laid.x[root]) * perUnit;
    each({ node, x, y: laid.depth[node] * ROW - scene.top, w }, laid.depth[node], false);
    for (let c = laid.first[node]; c < laid.first[node + 1]; c++) {
      if (laid.width[laid.child[c]] * perUnit >= SMALLEST_PX) open.push(laid.child[c]);
    }
  }
}

/** Where a node is drawn, or null when it is too narrow or outside of the zoomed part. */
export function placeOf(scene: Pick<Scene, "data" | "laid" | "root" | "width">, node: number): Box | null {
  const { laid, root, width, data } = scene;
  const path = pathTo(data, root);
  if (path.includes(node)) return { node, x: 0, y: laid.depth[node] * ROW, w: width };
  const perUnit = width / laid.width[root];
  const x = (laid.x[node] - laid.x[root]) * perUnit;
  const w = laid.width[node] * perUnit;
  if (!(w > 0) || x < -0.01 || x >= width || !pathTo(data, node).includes(root)) return null;
  return { node, x, y: laid.depth[node] * ROW, w };
}

/**
 * What a box with so much room is labelled with: its tag before as much of its name as fits. Where
 * no name fits behind it, a tag of letters is left out, which says nothing alone; a sign is not.
 */
export function labelOf(name: string, type: number, tag: string, room: number, measure: (text: string) => number) {
  const behind = tag === "" ? "" : fitting(name, type, room - measure(tag) - TAG_GAP_PX, measure);
  if (behind !== "") return { tag, text: behind };
  if (tag.length === 1 && measure(tag) <= room) return { tag, text: "" };
  return { tag: "", text: fitting(name, type, room, measure) };
}

function fitting(name: string, type: number, room: number, measure: (text: string) => number): string {
  const forms = shorter(name.length > 400 ? name.slice(0, 400) : name, type);
  for (const form of forms) if (measure(form) <= room) return form;
  const last = forms[forms.length - 1];
  const fits = Math.floor((last.length * (room - 8)) / measure(last));
  return fits >= 3 ? `${last.slice(0, fits)}…` : "";
}

class Brush {
  constructor(
    private readonly context: CanvasRenderingContext2D,
    private readonly scene: Scene,
  ) {}

  box({ node, x, y, w }: Box, above: boolean): void {
    const { context } = this;
    const { data, matches, ink, colours } = this.scene;
    const type = data.type[node];
    const appearance = look(type);
    const compared = colours === "change" ? change(data, node, "total") : null;
    const compares = compared && changeLook(compared, Math.max(compared.base, data.total[node]));
    const matched = matches !== null && matches[data.name[node]] === 1 && node > 0;
    const dimmed = (matches !== null && !matched) || above;
    // A hairline between boxes, none where it would be all that is seen.
    const shown = w > 2 ? w - 1 : Math.max(w, 0.5);
    context.globalAlpha = dimmed ? 0.42 : 1;
    if (compares) {
      context.fillStyle = ink("f-noise");
      context.fillRect(x, y, shown, ROW - 1);
      context.globalAlpha *= compares.strength;
      context.fillStyle = ink(compares.ink);
      context.fillRect(x, y, shown, ROW - 1);
      context.globalAlpha = dimmed ? 0.42 : 1;
    } else {
      context.fillStyle = ink(appearance.ink);
      context.fillRect(x, y, shown, ROW - 1);
    }
    const pattern = compares ? compares.pattern : appearance.pattern;
    if (pattern !== "plain" && w >= 1.5) {
      const drawn = patternOf(context, pattern, ink);
      if (drawn) {
        context.fillStyle = drawn;
        context.fillRect(x, y, shown, ROW - 1);
      }
    }
    if (matched) {
      context.fillStyle = ink("f-match");
      context.fillRect(x, y + ROW - 4, shown, 3);
    }
    if (w >= LABEL_PX) this.label(node, x, y, w, compares ? compares.sign : appearance.tag);
    context.globalAlpha = 1;
  }

  private label(node: number, x: number, y: number, w: number, tag: string): void {
    const { context } = this;
    const { data, ink } = this.scene;
    const left = x + 4;
    const middle = y + (ROW - 1) / 2 + 0.5;
    const measure = (text: string) => this.measure(text);
    const shown = labelOf(data.names[data.name[node]], data.type[node], tag, w - 9, measure);
    if (shown.tag !== "") {
      context.fillStyle = ink("f-tag");
      context.fillText(shown.tag, left, middle);
    }
    if (shown.text !== "") {
      context.fillStyle = ink("f-text");
      context.fillText(shown.text, shown.tag === "" ? left : left + this.measure(shown.tag) + TAG_GAP_PX, middle);
    }
  }

  private measure(text: string): number {
    let width = widths.get(text);
    if (width === undefined) {
      if (widths.size > 50_000) widths.clear();
      width = this.context.measureText(text).width;
      widths.set(text, width);
    }
    return width;
  }
}

/** A tile of a pattern, drawn in the colour of the moment. */
function patternOf(
  context: CanvasRenderingContext2D,
  kind: Pattern,
  ink: (name: string) => string,
): CanvasPattern | null {
  const known = patterns.get(kind);
  if (known !== undefined) return known;
  const size = 6;
  const tile = new OffscreenCanvas(size, size);
  const draw = tile.getContext("2d");
  if (!draw) return null;
  draw.strokeStyle = draw.fillStyle = ink("f-hatch");
  draw.lineWidth = 1;
  draw.beginPath();
  const line = (x0: number, y0: number, x1: number, y1: number): void => {
    draw.moveTo(x0, y0);
    draw.lineTo(x1, y1);
  };
  for (const at of [-size, 0, size]) {
    if (kind === "diagonal" || kind === "cross") line(at, size, at + size, 0);
    if (kind === "cross") line(at, 0, at + size, size);
  }
  if (kind === "bars") line(0.5, 0, 0.5, size);
  draw.stroke();
  if (kind === "dots") {
    draw.fillRect(1, 1, 1.4, 1.4);
    draw.fillRect(4, 4, 1.4, 1.4);
  }
  const made = context.createPattern(tile, "repeat");
  patterns.set(kind, made);
  return made;
}

/** A box for the legend. */
export function swatch(
  context: CanvasRenderingContext2D,
  width: number,
  height: number,
  colour: string,
  pattern: Pattern,
  ink: (name: string) => string,
): void {
  context.fillStyle = colour;
  context.fillRect(0, 0, width, height);
  const drawn = pattern === "plain" ? null : patternOf(context, pattern, ink);
  if (!drawn) return;
  context.fillStyle = drawn;
  context.fillRect(0, 0, width, height);
}
