// Threads that are named alike.

/**
 * A thread's name without its numbers. A digit after a single letter is part of a name: C1, C2, G1.
 */
export function poolOf(name: string): string {
  return name.replace(/(?<!(?<!\p{L})\p{L})(?<!\d)\d+/gu, "N");
}
