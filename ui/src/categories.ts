// How the categories of the ledger look: running in the colours of the flame graph (stronger, as no
// text stands on them), waiting hatched, so that the two are distinct without colour.

export interface CategoryLook {
  /** A colour of style/base.css. */
  ink: string;
  /** Whether lines of the paper's colour run through it, and which way. */
  hatch: 0 | 1 | -1;
}

const RUNNING: [string, string][] = [
  ["interpreted", "l-interpreted"],
  ["C1", "l-c1"],
  ["C2", "l-c2"],
  ["JVM", "l-jvm"],
  ["GC", "c2"],
  ["JIT", "c5"],
  ["native", "l-native"],
  ["kernel", "l-kernel"],
];
const WAITING: [RegExp, string, 1 | -1][] = [
  [/^waiting for a CPU|quota/, "c2", 1],
  [/by GC|: GC/, "c6", -1],
  [/safepoint/, "c6", 1],
  [/monitor/, "c4", 1],
  [/lock$/, "c4", -1],
  [/disk/, "c3", 1],
  [/network/, "c1", 1],
  [/name/, "c1", -1],
  [/fault/, "c5", 1],
  [/another process/, "quiet", -1],
  [/waiting/, "c5", -1],
];

/** Categories that say that a thread had nothing to do, or that nobody saw it. */
export function isQuiet(category: string): boolean {
  return category === "idle" || category === "asleep" || category === "unknown";
}

const KNOWN = /^(running|waiting for|throttled|stopped: |stalled: |blocked)/;

/** Null when it is no category of the ledger. */
export function categoryLook(category: string): CategoryLook | null {
  if (isQuiet(category)) return { ink: category === "unknown" ? "line" : "faded", hatch: 0 };
  if (!KNOWN.test(category)) return null;
  if (category.startsWith("running"))
    return { ink: RUNNING.find(([word]) => category.includes(word))?.[1] ?? "l-unknown", hatch: 0 };
  const found = WAITING.find(([pattern]) => pattern.test(category));
  return found ? { ink: found[1], hatch: found[2] } : { ink: "quiet", hatch: 1 };
}

/** The same as a background. */
export function swatchOf(category: string): string {
  const { ink, hatch } = categoryLook(category) ?? { ink: "quiet", hatch: 0 };
  return hatch === 0
    ? `var(--${ink})`
    : `repeating-linear-gradient(${hatch * 45}deg, var(--${ink}) 0 3px, var(--sheet) 3px 4px)`;
}
