// What the pointer does on the timeline: the wheel zooms and moves, a drag over lanes brushes, one
// over the axis moves.

import { useEffect, useRef, useState } from "preact/hooks";

import type { Detail, Page } from "../../context";
import type { Range } from "../../view";

/** A drag shorter than this is a click. */
const DRAG_PX = 4;
/**
 * A wheel that was turning over the page goes on moving the page when a lane
 * slides under the pointer.
 */
const WHEEL_LATCH_MS = 250;

/** For the help sheet. */
export const GESTURES: [string, string][] = [
  ["Drag", "select the window that everything is about"],
  ["Shift + drag", "select the baseline that it is compared with"],
  ["Wheel", "zoom at the pointer; sideways or with Shift: move"],
  ["Drag the axis", "move"],
  ["Double-click", "show the whole recording"],
  ["Point", "details of what is there"],
  ["Click", "keep these details, with the whole stack"],
];

/** What is being brushed: the window, or what it is compared with. */
export interface Brush extends Range {
  side: "windows" | "base";
}

/** A place on the timeline and what lies there. */
export interface Hover {
  x: number;
  y: number;
  t: number;
  detail: Detail | null;
}

/** Sets the window (or the base) to the period between two moments, within the run. */
export function brush(page: Page, side: Brush["side"], a: number, b: number): void {
  const { from, to } = page.view.home;
  const clip = (t: number): number => Math.min(to, Math.max(from, t));
  const range = { from: clip(Math.min(a, b)), to: clip(Math.max(a, b)) };
  if (range.to > range.from) page.state.set(side === "base" ? { base: [range] } : { windows: [range] });
}

/**
 * Handlers for the element that holds the lanes, what is being dragged, and where its plots lie.
 */
export function useGestures(page: Page, onKeep: (detail: Detail | null) => void) {
  const lanes = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<Brush | null>(null);
  const plot = (): DOMRect | null => lanes.current?.querySelector(".overlay")?.getBoundingClientRect() ?? null;
  const timeAt = (clientX: number): number => {
    const box = plot();
    return box && box.width > 0
      ? page.view.from + ((clientX - box.left) / box.width) * page.view.width
      : page.view.from;
  };

  // Wheel listeners have to declare that they may stop the page from scrolling,
  // which JSX cannot say.
  useEffect(() => {
    let last = -Infinity;
    let over: "lanes" | "page" = "page";
    const note = (event: WheelEvent): void => {
      const inside = event.target instanceof Element && event.target.closest("[data-plot]") !== null;
      if (event.timeStamp - last > WHEEL_LATCH_MS) over = inside ? "lanes" : "page";
      last = event.timeStamp;
      if (!inside || over === "page") return;
      event.preventDefault();
      const sideways = event.shiftKey
        ? event.deltaY || event.deltaX
        : Math.abs(event.deltaX) > Math.abs(event.deltaY)
          ? event.deltaX
          : 0;
      if (sideways !== 0) page.view.pan(sideways / 800);
      else page.view.zoom(Math.exp(-event.deltaY / 400), timeAt(event.clientX));
    };
    window.addEventListener("wheel", note, { passive: false });
    return () => window.removeEventListener("wheel", note);
  }, [page]);

  useEffect(() => {
    const element = lanes.current;
    if (!element) return;
    const observer = new ResizeObserver(() => page.view.changed());
    observer.observe(element);
    return () => observer.disconnect();
  }, [page]);

  const placeOf = (event: PointerEvent): Hover | null => {
    const cell = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-plot]") : null;
    const box = plot();
    if (!cell || !box || event.clientX < box.left) return null;
    const t = timeAt(event.clientX);
    const y = event.clientY - cell.getBoundingClientRect().top;
    const handle = page.handles.get(cell.dataset.plot ?? "");
    const detail = handle?.describe(t, y, page.view.width / Math.max(1, box.width)) ?? null;
    return { x: event.clientX, y: event.clientY, t, detail };
  };

  const onPointerDown = (event: PointerEvent): void => {
    const target = event.target as Element;
    if (event.button !== 0 || !target.closest("[data-plot]")) return;
    const startX = event.clientX;
    const start = { from: page.view.from, to: page.view.to };
    const startT = timeAt(startX);
    const panning = target.closest(".axis") !== null;
    const side = event.shiftKey ? "base" : "windows";
    const width = plot()?.width ?? 1;
    let moved = false;
    const move = (e: PointerEvent): void => {
      moved ||= Math.abs(e.clientX - startX) >= DRAG_PX;
      if (!moved) return;
      e.preventDefault();
      if (panning) {
        const by = ((startX - e.clientX) / width) * (start.to - start.from);
        page.view.show(start.from + by, start.to + by);
      } else setDrag({ from: startT, to: timeAt(e.clientX), side });
    };
    const stop = (): void => {
      window.removeEventListener("pointermove", move);
      window.removeEventListener("pointerup", up);
      window.removeEventListener("pointercancel", stop);
      window.removeEventListener("keydown", onEscape, true);
      setDrag(null);
    };
    const up = (e: PointerEvent): void => {
      stop();
      if (moved && !panning) brush(page, side, startT, timeAt(e.clientX));
      if (!moved) onKeep(placeOf(e)?.detail ?? null);
    };
    const onEscape = (e: KeyboardEvent): void => {
      if (e.key !== "Escape") return;
      e.stopPropagation();
      stop();
    };
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", up);
    window.addEventListener("pointercancel", stop);
    window.addEventListener("keydown", onEscape, true);
  };
  return { lanes, drag, plot, placeOf, onPointerDown };
}
