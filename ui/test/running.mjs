// Runs tests in a browser, one after another: each begins without a page and ends without a
// word in the console.

import assert from "node:assert/strict";

/**
 * Runs them all, says of each how it ended, closes the browser and ends the process
 * with 1 where any failed.
 *
 * `tests` has functions by title, `problems` collects what the browser's console
 * says, `atEnd` clears up.
 */
export async function runAll(tests, { browser, problems, atEnd }) {
  let failed = 0;
  for (const [title, test] of Object.entries(tests)) {
    try {
      await test();
      assert.deepEqual(problems.splice(0), [], "the browser's console");
      console.log(`ok: ${title}`);
    } catch (error) {
      failed++;
      console.error(`FAILED: ${title}\n${error.stack ?? error}`);
      problems.length = 0;
    }
    for (const context of browser.contexts()) await context.close();
  }
  await browser.close();
  atEnd();
  process.exit(failed === 0 ? 0 : 1);
}
