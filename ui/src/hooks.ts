// Draws again after what the page shows has changed.

import { useEffect, useState } from "preact/hooks";

import type { Page } from "./context";
import type { Choice } from "./state";

/** After the view has moved. */
export function useView(page: Page): void {
  const [, redraw] = useState(0);
  useEffect(() => page.view.subscribe(() => redraw((n) => n + 1)), [page]);
}

/** After something else was chosen. */
export function useChoice(page: Page): Choice {
  const [choice, setChoice] = useState(page.state.now);
  useEffect(() => {
    setChoice(page.state.now);
    return page.state.subscribe(() => setChoice(page.state.now));
  }, [page]);
  return choice;
}
