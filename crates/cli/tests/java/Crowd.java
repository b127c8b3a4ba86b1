import java.util.concurrent.locks.LockSupport;

/**
 * Many threads that wait shortly and often, as those of a pool do, and a few others whose waits are
 * long: one sleeps, two wait for each other, and one that else sleeps ten thousand times a second
 * waits for what a keeper holds.
 */
public class Crowd {
  static final Object MONITOR = new Object();
  static final Object KEPT = new Object();

  public static void main(String[] args) throws Exception {
    for (int i = 0; i < Integer.parseInt(args[0]); i++) {
      Object work = new Object();
      start("pool-" + i, () -> LockSupport.parkNanos(work, 1_100_000));
    }
    start("sleeper", () -> nap(300));
    for (int i = 0; i < 3; i++) {
      Object work = new Object();
      start("busy-" + i, () -> LockSupport.parkNanos(work, 20_000));
    }
    start("keeper", Crowd::keep);
    start("guest", Crowd::visit);
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

  static void keep() {
    synchronized (KEPT) {
      nap(200);
    }
    nap(50);
  }

  static void visit() {
    for (int i = 0; i < 500; i++) {
      LockSupport.parkNanos(KEPT, 20_000);
    }
    synchronized (KEPT) {
      LockSupport.parkNanos(KEPT, 20_000);
    }
  }

  static void nap(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }
}
