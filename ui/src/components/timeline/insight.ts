// Lanes out of sight are not drawn while the page opens and while the view moves: most of a long
// timeline is below the fold.

import type { Page } from "../../context";
import { onPaper } from "../../print";

/** Lanes this far beyond the window's edge are kept current, so that scrolling finds them drawn. */
const MARGIN = "300px 0px";

/**
 * Whether the page has been shown: from then on whatever is new (unfolded, in other colours, on
 * paper) is drawn at once.
 */
const opened = (): boolean => performance.getEntriesByName("fathom-ready").length > 0;

/**
 * Draws at once, while the page opens when the element is in sight; then whenever the view has
 * moved and the element is (or comes) in sight. Returns how to stop.
 */
export function drawInSight(element: HTMLElement, page: Page, redraw: () => void): () => void {
  let seen = opened();
  let stale = !seen;
  const observer = new IntersectionObserver(
    (entries) => {
      seen = entries[entries.length - 1].isIntersecting;
      if (!seen || !stale) return;
      stale = false;
      redraw();
    },
    { rootMargin: MARGIN },
  );
  observer.observe(element);
  if (seen) redraw();
  const unsubscribe = page.view.subscribe(() => {
    if (seen) redraw();
    else stale = true;
  });
  const offPaper = onPaper(redraw);
  return () => {
    offPaper();
    unsubscribe();
    observer.disconnect();
  };
}
