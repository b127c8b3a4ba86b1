// How each type of frame looks. Colours are tints of Okabe and Ito's, which people with any colour
// vision distinguish; a tag of letters in the box and a pattern on it say the same without colour.

import { type Change, FRAME_TYPES, type FrameType } from "./data";

export type Pattern = "plain" | "diagonal" | "dots" | "bars" | "cross";

export interface Look {
  /** A colour of flame.css. */
  ink: string;
  /** Letters in the box. */
  tag: string;
  pattern: Pattern;
  /** In words, for the legend. */
  means: string;
}

const LOOKS: Record<FrameType, Look> = {
  interpreted: { ink: "f-interpreted", tag: "int", pattern: "diagonal", means: "Java, interpreted" },
  C1: { ink: "f-c1", tag: "C1", pattern: "bars", means: "Java, compiled by C1" },
  C2: { ink: "f-c2", tag: "C2", pattern: "plain", means: "Java, compiled by C2" },
  inlined: { ink: "f-inlined", tag: "inl", pattern: "dots", means: "Java, inlined" },
  stub: { ink: "f-stub", tag: "stub", pattern: "dots", means: "stub or adapter of the JVM" },
  JVM: { ink: "f-jvm", tag: "JVM", pattern: "plain", means: "the JVM itself" },
  native: { ink: "f-native", tag: "nat", pattern: "plain", means: "native library" },
  kernel: { ink: "f-kernel", tag: "kern", pattern: "bars", means: "kernel" },
  unknown: { ink: "f-unknown", tag: "?", pattern: "cross", means: "unknown" },
  cut: { ink: "f-unknown", tag: "cut", pattern: "cross", means: "callers not seen" },
  group: { ink: "f-group", tag: "", pattern: "plain", means: "thread, process" },
};

export function look(type: number): Look {
  return LOOKS[FRAME_TYPES[type] ?? "unknown"];
}

/**
 * How a comparison looks: more is orange, less is blue, within noise is grey; a sign
 * says it without colour.
 */
export function changeLook(
  change: Change,
  reference: number,
): { ink: string; strength: number; sign: string; pattern: Pattern } {
  if (change.verdict === "noise" || change.verdict === "too-few") {
    return { ink: "f-noise", strength: 1, sign: change.verdict === "noise" ? "=" : "", pattern: "plain" };
  }
  // A change of half of what was there is drawn at full strength: the scale is the frame's own, so
  // that a large change of a small frame is seen, and noise never is.
  const strength = Math.min(1, 0.35 + (0.65 * Math.abs(change.difference)) / Math.max(reference * 0.5, 1e-9));
  const more = change.verdict === "more";
  const pattern: Pattern = change.added || change.vanished ? "diagonal" : "plain";
  return { ink: more ? "f-more" : "f-less", strength, sign: change.added ? "new" : more ? "+" : "−", pattern };
}

/** Shorter forms of a name, longest first: what fits a narrow box. */
export function shorter(name: string, type: number): string[] {
  if (type <= 3) {
    const parts = name.split(".");
    const forms = [name];
    if (parts.length > 2) forms.push(parts.slice(-2).join("."));
    if (parts.length > 1) forms.push(parts[parts.length - 1]);
    return forms;
  }
  const bare = withoutArguments(name);
  const last = bare.includes("::") ? bare.slice(bare.lastIndexOf("::") + 2) : bare;
  return last === name ? [name] : bare === last || bare === name ? [name, last] : [name, bare, last];
}

function withoutArguments(name: string): string {
  const at = name.indexOf("(");
  return at > 0 ? name.slice(0, at) : name;
}
