// How the headings of the ledger look: running in the colours of the flame graph (stronger, as no text stands on them), waiting hatched, so that the two are
// distinct without colour.

export interface HeadingLook {
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

/** Headings that say that a thread had nothing to do, or that nobody saw it. */
export function isQuiet(heading: string): boolean {
  return heading === "idle" || heading === "asleep" || heading === "unknown";
}

const KNOWN = /^(running|waiting for|throttled|stopped: |stalled: |blocked)/;

/** Null when it is no heading of the ledger. */
export function headingLook(heading: string): HeadingLook | null {
  if (isQuiet(heading)) return { ink: heading === "unknown" ? "line" : "faded", hatch: 0 };
  if (!KNOWN.test(heading)) return null;
  if (heading.startsWith("running"))
    return { ink: RUNNING.find(([word]) => heading.includes(word))?.[1] ?? "l-unknown", hatch: 0 };
  const found = WAITING.find(([pattern]) => pattern.test(heading));
  return found ? { ink: found[1], hatch: found[2] } : { ink: "quiet", hatch: 1 };
}

/** The same as a background. */
export function swatchOf(heading: string): string {
  const { ink, hatch } = headingLook(heading) ?? { ink: "quiet", hatch: 0 };
  return hatch === 0
    ? `var(--${ink})`
    : `repeating-linear-gradient(${hatch * 45}deg, var(--${ink}) 0 3px, var(--sheet) 3px 4px)`;
}
