// What a test in the browser leaves out: said, noted for the end of `make test`, and a failure
// where everything should run. The same two variables as crates/testing/src/lib.rs.

import { appendFileSync, readFileSync } from "node:fs";
import { basename } from "node:path";

/**
 * Says that a test, or a part of it, does not run here and why. The caller returns
 * or exits afterwards.
 */
export function skip(why) {
  const line = `SKIPPED: ${basename(process.argv[1] ?? "a test")}: ${why.replace(/\s+/g, " ")}`;
  console.error(line);
  const { FATHOM_TEST_NOTES: notes, FATHOM_MAY_SKIP: permitted } = process.env;
  if (notes) appendFileSync(notes, `${line}\n`);
  if (!permitted) return;
  const reasons = readFileSync(permitted, "utf8")
    .split("\n")
    .map((text) => text.trim());
  if (!reasons.some((text) => text && !text.startsWith("#") && why.includes(text))) {
    throw new Error(`this should have run here: ${why} (${permitted} permits no such skip)`);
  }
}
