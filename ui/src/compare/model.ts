// What stands in the page of a comparison: the report as `fathom compare --json` prints it, and
// flame graphs next to it.

import { COMPARE_SCHEMA, type Page } from "../generated/compare";
import { parsePrintable } from "../printable";

/** Two numbers: of A and of B, or the ends of an interval. */
export type Two = [number, number];

export function readPage(json: string): Page {
  const page = parsePrintable(json) as Page;
  if (page?.schema !== COMPARE_SCHEMA) throw new Error(`data of an unknown kind: ${String(page?.schema)}`);
  return page;
}
