// Who waited for whom: from a wait to the thread that it names, to what that thread waited for
// at the time, and on.

import type { Page } from "./context";
import { duration } from "./format";
import type { SpanLane } from "./model";

/** Longer chains are loops or noise. */
const LONGEST = 6;
/** Labels that name the thread that was waited for. */
const NAMES = ["owner", "waker"];

function other(page: Page, lane: SpanLane, i: number): string | null {
  for (const word of NAMES) {
    const label = lane.labels.find((l) => l.name === word);
    if (label && label.values[i] > 0) return page.lanes.strings[label.values[i] - 1] ?? null;
  }
  return null;
}

const threadOf = (page: Page, lane: SpanLane, i: number): string =>
  page.samples.threads[(lane.thread?.[i] ?? 0) - 1]?.name ?? "a thread";

/** Sentences, the first about the span itself; empty when it names nobody. */
export function chain(page: Page, lane: SpanLane, index: number): string[] {
  const out: string[] = [];
  const met = new Set<string>();
  let [at, i] = [lane, index];
  for (let step = 0; step < LONGEST; step++) {
    const name = other(page, at, i);
    const self = threadOf(page, at, i);
    if (name === null || met.has(self)) break;
    met.add(self);
    out.push(`${self} waited ${duration(at.duration[i])} for ${name} (${page.lanes.strings[at.name[i]] || at.title})`);
    const next = longestOf(page, name, at.t0[i], at.t0[i] + at.duration[i]);
    if (!next) {
      out.push(`what ${name} did meanwhile was not recorded as a wait`);
      break;
    }
    if (other(page, next.lane, next.index) === null) {
      out.push(
        `${name}: ${page.lanes.strings[next.lane.name[next.index]] || next.lane.title}, ${duration(next.lane.duration[next.index])} (${next.lane.title})`,
      );
      break;
    }
    [at, i] = [next.lane, next.index];
  }
  return out;
}

/** The span of a thread that covers most of a period. */
function longestOf(page: Page, thread: string, from: number, to: number): { lane: SpanLane; index: number } | null {
  const numbers = new Set(page.samples.threads.flatMap((t, i) => (t.name === thread ? [i + 1] : [])));
  let found: { lane: SpanLane; index: number } | null = null;
  let most = 0;
  for (const group of page.lanes.groups) {
    for (const lane of group.lanes) {
      if (lane.type !== "spans" || !lane.thread) continue;
      for (let i = 0; i < lane.t0.length && lane.t0[i] < to; i++) {
        if (!numbers.has(lane.thread[i])) continue;
        const overlap = Math.min(to, lane.t0[i] + lane.duration[i]) - Math.max(from, lane.t0[i]);
        if (overlap > most) {
          most = overlap;
          found = { lane, index: i };
        }
      }
    }
  }
  return found;
}
