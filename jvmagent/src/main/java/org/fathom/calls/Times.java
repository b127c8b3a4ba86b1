package org.fathom.calls;

/** How long calls took. */
public final class Times {
  /**
   * Buckets of durations: eight for each power of two of nanoseconds, so that one is at
   * most an eighth wide.
   */
  public static final int BUCKETS = 8 * 62;

  public long count, sum, max;
  /** By eights, those of one power of two together; null where there is none. */
  private final long[][] eights = new long[BUCKETS / 8][];

  void add(long ns) {
    int bucket = bucket(ns);
    long[] eight = eights[bucket >>> 3];
    if (eight == null) {
      eight = eights[bucket >>> 3] = new long[8];
    }
    eight[bucket & 7]++;
    count++;
    sum += ns;
    if (ns > max) {
      max = ns;
    }
  }

  /** How many took as long as this bucket says. */
  public long in(int bucket) {
    long[] eight = eights[bucket >>> 3];
    return eight == null ? 0 : eight[bucket & 7];
  }

  /** The bucket of a duration. */
  static int bucket(long ns) {
    if (ns < 8) {
      return (int) Math.max(0, ns);
    }
    int power = 63 - Long.numberOfLeadingZeros(ns);
    return 8 * (power - 2) + (int) ((ns >>> (power - 3)) & 7);
  }

  /** From how many nanoseconds on a bucket is. */
  public static long from(int bucket) {
    return bucket < 8 ? bucket : (8L + bucket % 8) << (bucket / 8 - 1);
  }
}
