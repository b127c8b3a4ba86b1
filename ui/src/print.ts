// On paper: light, as wide as a sheet, with every canvas drawn for that width, also those below the
// fold. A browser lays its sheets out right after `beforeprint`, whether the page's own button, a
// key or the browser's menu began it, so all of this happens within that event.

import { options } from "preact";

type Drawer = (asSheet: boolean) => void;

/**
 * What sets the colours, and what draws with them, when the page becomes a sheet or a screen again.
 */
const painters = new Set<Drawer>();
const drawers = new Set<Drawer>();

/**
 * Has `drawer` called when the page is laid out as a sheet, and again when it is a screen's.
 * Returns how to stop.
 */
export function onPaper(drawer: Drawer): () => void {
  drawers.add(drawer);
  return () => void drawers.delete(drawer);
}

/** The same for what sets colours, before anything is drawn. */
export function paintForPaper(painter: Drawer): () => void {
  painters.add(painter);
  return () => void painters.delete(painter);
}

/** What `change` sets is rendered before this returns, and not in a later task. */
function rendered(change: () => void): void {
  const usual = options.debounceRendering;
  options.debounceRendering = (render) => render();
  try {
    change();
  } finally {
    if (usual) options.debounceRendering = usual;
    else delete options.debounceRendering;
  }
}

function layOut(asSheet: boolean): void {
  document.documentElement.classList.toggle("printing", asSheet);
  rendered(() => [...painters, ...drawers].forEach((change) => change(asSheet)));
}

// Tests of what panels say of themselves have no window.
if (typeof window !== "undefined") {
  window.addEventListener("beforeprint", () => layOut(true));
  window.addEventListener("afterprint", () => layOut(false));
}
