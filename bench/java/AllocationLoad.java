import java.util.concurrent.ThreadLocalRandom;

/**
 * Allocates from two threads, keeping one object in eight for a while, with a
 * humongous array now and then.
 */
public final class AllocationLoad {
  private static volatile Object sink;

  public static void main(String[] args) throws Exception {
    long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
    Thread[] threads = new Thread[2];
    for (int i = 0; i < threads.length; i++) {
      threads[i] = new Thread(() -> allocate(end));
      threads[i].start();
    }
    for (Thread thread : threads) {
      thread.join();
    }
  }

  private static void allocate(long end) {
    Object[] kept = new Object[30_000];
    ThreadLocalRandom random = ThreadLocalRandom.current();
    for (long i = 0; System.nanoTime() < end; i++) {
      byte[] fresh = new byte[random.nextInt(64, 2112)];
      if (i % 8 == 0) {
        kept[random.nextInt(kept.length)] = fresh;
      }
      if (i % 20_000 == 0) {
        sink = new byte[3 << 20];
      }
    }
  }
}
