// The threads that the reader chose, for what aggregates samples.

import type { Page } from "../context";

/** The chosen threads as a filter; null is all. */
export function filterOf(page: Page): Uint8Array | null {
  const { threads } = page.state.now;
  if (threads.length === 0) return null;
  const filter = new Uint8Array(page.samples.threads.length + 1);
  for (const n of threads) if (n < filter.length) filter[n] = 1;
  return filter;
}
