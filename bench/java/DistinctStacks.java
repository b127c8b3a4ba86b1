import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Threads whose stacks differ in depth and shape, with locks, exceptions and allocation: what
 * fills a flight recording.
 */
public final class DistinctStacks {
  private static final Object[] LOCKS = new Object[8];

  public static void main(String[] args) throws InterruptedException {
    long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
    for (int i = 0; i < LOCKS.length; i++) {
      LOCKS[i] = new Object();
    }
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      Random random = new Random(i);
      Thread thread = new Thread(() -> run(random, end), "worker-" + i);
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) {
      thread.join();
    }
  }

  private static void run(Random random, long end) {
    while (System.nanoTime() < end) {
      step(random, 5 + random.nextInt(40));
    }
  }

  /** Each level chooses one of three methods, so that nearly every stack is a new one. */
  private static long step(Random random, int depth) {
    if (depth == 0) {
      return work(random);
    }
    switch (random.nextInt(3)) {
      case 0:
        return left(random, depth - 1);
      case 1:
        return right(random, depth - 1);
      default:
        return middle(random, depth - 1);
    }
  }

  private static long left(Random random, int depth) {
    return step(random, depth) + 1;
  }

  private static long right(Random random, int depth) {
    return step(random, depth) * 3;
  }

  private static long middle(Random random, int depth) {
    return step(random, depth) ^ 5;
  }

  private static long work(Random random) {
    long sum = 0;
    byte[] bytes = new byte[1 + random.nextInt(4096)];
    for (int i = 0; i < 20_000; i++) {
      sum += bytes[i % bytes.length] + i;
    }
    try {
      synchronized (LOCKS[random.nextInt(LOCKS.length)]) {
        if (random.nextInt(8) == 0) {
          Thread.sleep(12);
        }
        if (random.nextInt(16) == 0) {
          throw new IllegalStateException("one of many");
        }
      }
    } catch (IllegalStateException | InterruptedException e) {
      sum++;
    }
    return sum;
  }
}
