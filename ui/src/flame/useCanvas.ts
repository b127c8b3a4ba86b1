// Draws a flame graph when what it shows changes, when it is scrolled, and when its width changes.

import type { RefObject } from "preact";
import { useCallback, useEffect, useLayoutEffect } from "preact/hooks";

import { onPaper } from "../print";
import { forgetPatterns, paint, type Scene } from "./paint";

interface Picture {
  canvas: RefObject<HTMLCanvasElement | null>;
  scroller: RefObject<HTMLDivElement | null>;
  scene: () => Scene;
  /** Of the canvas, CSS pixels. */
  width: number;
  visible: number;
  /** Changes when the colours do. */
  theme: string;
  onWidth: (width: number) => void;
  /** How many rows there are. */
  onRows: (rows: number) => void;
}

export function useCanvas({ canvas, scroller, scene, width, visible, theme, onWidth, onRows }: Picture): void {
  const draw = useCallback(() => {
    const element = canvas.current;
    const context = element?.getContext("2d");
    if (!element || !context || width === 0) return;
    const ratio = devicePixelRatio || 1;
    if (element.width !== Math.round(width * ratio) || element.height !== Math.round(visible * ratio)) {
      element.width = Math.round(width * ratio);
      element.height = Math.round(visible * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    onRows(paint(context, scene()));
  }, [scene, width, visible]);

  useLayoutEffect(() => {
    forgetPatterns();
    draw();
  }, [draw, theme]);

  useEffect(() => {
    const element = scroller.current;
    if (!element) return;
    const observer = new ResizeObserver(() => onWidth(element.clientWidth));
    observer.observe(element);
    let frame = 0;
    const onScroll = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(draw);
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    const offPaper = onPaper(() => onWidth(element.clientWidth));
    return () => {
      offPaper();
      observer.disconnect();
      cancelAnimationFrame(frame);
      element.removeEventListener("scroll", onScroll);
    };
  }, [draw]);
}
