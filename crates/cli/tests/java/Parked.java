import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Virtual threads that are parked below so many calls, until input ends. */
public class Parked {
  static final List<Thread> THREADS = new ArrayList<>();
  static long sum;

  static long down(int calls, long a, long b, long c, CountDownLatch parked) {
    if (calls == 0) {
      parked.countDown();
      while (true) {
        LockSupport.park();
      }
    }
    return down(calls - 1, a + 1, b + a, c + b, parked) + a + b + c;
  }

  public static void main(String[] args) throws Exception {
    int threads = Integer.parseInt(args[0]);
    CountDownLatch parked = new CountDownLatch(threads);
    for (int i = 0; i < threads; i++) {
      int calls = i % 60;
      Runnable run = () -> sum += down(calls, 1, 2, 3, parked);
      // Thread.startVirtualThread of JDK 21 and later.
      THREADS.add(
          (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, run));
    }
    parked.await();
    Thread.sleep(300);
    System.gc();
    System.out.println("ready");
    while (System.in.read() >= 0) {}
    System.exit(0);
  }
}
