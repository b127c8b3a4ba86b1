// Stacks from left to right in the order of time: what ran when.

import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";

import type { Page } from "../context";
import { look, shorter } from "../flame/looks";
import { useChoice } from "../hooks";
import { onPaper } from "../print";
import { type Box, order } from "../samples/order";
import { filterOf } from "../samples/threadFilter";
import { ink } from "../theme";

const ROW = 17;
/** Pixels of the panel; deeper stacks scroll. */
const HEIGHT = 420;
/** Pixels that one column takes. */
const COLUMN = 2;
const FONT = "12px Inter, ui-sans-serif, system-ui, sans-serif";

export function TimeOrder({ page, theme, kind }: { page: Page; theme: string; kind: number }) {
  const choice = useChoice(page);
  const host = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [pointedAt, setPointedAt] = useState("");
  const columns = Math.max(1, Math.floor(width / COLUMN));
  const windows = page.windows();
  const key = JSON.stringify([kind, windows, choice.threads, columns]);
  const laid = useMemo(
    () => (width > 0 ? order(page.samples, kind, windows, filterOf(page), columns) : null),
    [page, key],
  );
  const types = useMemo(() => typesOf(page), [page]);
  useEffect(() => {
    const element = host.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    observer.observe(element);
    const offPaper = onPaper(() => setWidth(element.clientWidth));
    return () => {
      offPaper();
      observer.disconnect();
    };
  }, []);
  const height = laid ? Math.max(laid.depth, 1) * ROW : HEIGHT;
  useLayoutEffect(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || !laid) return;
    const ratio = devicePixelRatio || 1;
    element.width = Math.round(width * ratio);
    element.height = Math.round(height * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = FONT;
    context.textBaseline = "middle";
    for (const box of laid.boxes) paintBox(context, page, box, types);
  }, [laid, width, height, theme, page, types]);
  const { names, merged } = page.samples.stacks;
  const nameOf = (box: Box): string => names[merged.name[box.node]];
  const covered = windows.reduce((sum, r) => sum + r.to - r.from, 0);
  const timeAt = (x: number): number => {
    let left = (x / Math.max(1, columns)) * covered;
    for (const r of windows) {
      if (left <= r.to - r.from) return r.from + left;
      left -= r.to - r.from;
    }
    return windows[windows.length - 1]?.to ?? 0;
  };
  return (
    <div>
      <p class="note">
        In each {COLUMN} pixels the stack that took most; root above, leaves below.
        {choice.threads.length === 0 && page.samples.threads.length > 1
          ? " All threads together: choose one to see its own order."
          : ""}
      </p>
      <div
        class="flame-scroll order"
        ref={host}
        style={{ height: `${Math.min(HEIGHT, height + 2)}px` }}
        tabIndex={0}
        role="img"
        aria-label={`Stacks in order of time, ${laid?.boxes.length ?? 0} boxes, ${laid?.depth ?? 0} deep. The flame graph has the same samples as a table.`}
        onPointerMove={(e) => {
          const box = canvas.current?.getBoundingClientRect();
          if (!box || !laid) return;
          const x = Math.floor((e.clientX - box.left) / COLUMN);
          const depth = Math.floor((e.clientY - box.top) / ROW);
          const found = laid.boxes.find((b) => b.depth === depth && b.x <= x && x < b.x + b.width);
          setPointedAt(
            found
              ? `${page.moment(timeAt(found.x), covered)} – ${page.moment(timeAt(found.x + found.width), covered)}: ${nameOf(found)}`
              : "",
          );
        }}
        onPointerLeave={() => setPointedAt("")}
      >
        <canvas ref={canvas} style={{ display: "block", width: "100%", height: `${height}px` }} aria-hidden="true" />
      </div>
      <p class="flame-details order-details quiet">
        {pointedAt === "" ? "Point at a box for its name and time." : pointedAt}
      </p>
    </div>
  );
}

/** Type of each node of the merged tree: that of the first typed one. */
function typesOf(page: Page): Uint8Array {
  const { merged, type } = page.samples.stacks;
  const types = new Uint8Array(merged.parent.length);
  for (let i = type.length - 1; i >= 0; i--) types[merged.of[i]] = type[i];
  return types;
}

function paintBox(context: CanvasRenderingContext2D, page: Page, box: Box, types: Uint8Array): void {
  const [x, y, w] = [box.x * COLUMN, box.depth * ROW, box.width * COLUMN];
  const type = types[box.node];
  context.fillStyle = ink(look(type).ink);
  context.fillRect(x, y, w > 3 ? w - 1 : w, ROW - 1);
  if (w < 26) return;
  const name = page.samples.stacks.names[page.samples.stacks.merged.name[box.node]];
  const text = shorter(name.slice(0, 300), type).find((t) => context.measureText(t).width <= w - 8);
  if (!text) return;
  context.fillStyle = ink("f-text");
  context.fillText(text, x + 4, y + ROW / 2);
}
