// Waiting for what a page will show: a machine that is busy draws it later, and none of it
// may be read too early.

/** Longer than any loaded machine takes to draw; a page that never shows it fails all the same. */
export const PATIENCE_MS = 60_000;

/**
 * Calls `check` until it throws no more, and gives what it gave; after
 * `PATIENCE_MS` its last failure.
 */
export async function eventually(check) {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > end) throw error;
      await new Promise((again) => setTimeout(again, 40));
    }
  }
}
