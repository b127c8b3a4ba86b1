import java.math.BigInteger;
import java.util.Random;

/**
 * Computes for some tenths of a second: sums of products, or products of large numbers.
 * Prints what it took.
 */
public final class Sums {
  public static void main(String[] args) {
    int rounds = Integer.parseInt(args[1]);
    long began = System.nanoTime();
    long result = args[0].equals("large") ? large(rounds) : small(rounds);
    System.out.println("took " + (System.nanoTime() - began) / 1e6 + " ms, " + result);
  }

  private static long small(int rounds) {
    long sum = 0;
    for (int round = 0; round < rounds; round++) {
      for (int i = 0; i < 100_000; i++) {
        sum += (long) i * round ^ sum >>> 3;
      }
    }
    return sum;
  }

  /** Multiplies and squares as signatures do: HotSpot has intrinsics for it. */
  private static long large(int rounds) {
    BigInteger modulus = new BigInteger(2048, new Random(1)).setBit(0);
    BigInteger base = new BigInteger(2040, new Random(2));
    for (int round = 0; round < rounds; round++) {
      base = base.modPow(BigInteger.valueOf(65_537), modulus);
    }
    return base.longValue();
  }
}
