import java.util.concurrent.locks.LockSupport;

/**
 * Many threads that wait shortly and often, as those of a pool do, and a few others whose waits are long: one sleeps, two wait for each
 * other.
 */
public class Crowd {
  static final Object MONITOR = new Object();

  public static void main(String[] args) throws Exception {
    for (int i = 0; i < Integer.parseInt(args[0]); i++) {
      Object work = new Object();
      start("pool-" + i, () -> LockSupport.parkNanos(work, 1_100_000));
    }
    start("sleeper", () -> nap(300));
    start("holder", Crowd::hold);
    start("waiter", Crowd::hold);
    System.out.println("ready");
    System.out.flush();
    Thread.sleep(120_000);
  }

  static void start(String name, Runnable work) {
    Thread thread = new Thread(() -> { while (true) { work.run(); } }, name);
    thread.setDaemon(true);
    thread.start();
  }

  static void hold() {
    synchronized (MONITOR) {
      nap(15);
    }
    nap(1);
  }

  static void nap(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
