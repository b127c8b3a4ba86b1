// What people or their tools did meanwhile, in words.

import { durationMs } from "./format";
import type { Mark } from "./generated/diagnosis";

/** A mark in words; what a window begins with is a fact and no cause. */
export function began(mark: Mark): string {
  if (!mark.began) return mark.text;
  const { before_ms: ms, within_ms: within } = mark.began;
  const when =
    ms === 0 ? "at its beginning" : `${durationMs(Math.abs(ms))} ${ms > 0 ? "before" : "after"} its beginning`;
  return `a slow window began with: ${mark.text} (${when}; moments up to ${durationMs(within)} apart count as the same)`;
}
