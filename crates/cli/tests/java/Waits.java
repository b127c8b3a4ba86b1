/**
 * Threads whose time is known by construction: one sleeps, one computes, one does both in turns.
 */
public class Waits {
  static volatile long sink;

  public static void main(String[] args) throws Exception {
    start("sleeper", () -> nap(20));
    start("burner", () -> burn(20));
    start("half", () -> { burn(10); nap(10); });
    start("locker", Waits::hold);
    start("holder", Waits::hold);
    System.out.println("ready");
    System.out.flush();
    Thread.sleep(Long.parseLong(args[0]) * 1000);
  }

  static void start(String name, Runnable work) {
    Thread thread = new Thread(() -> { while (true) { work.run(); } }, name);
    thread.setDaemon(true);
    thread.start();
  }

  static void hold() {
    synchronized (Waits.class) {
      nap(20);
    }
  }

  static void nap(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Computes for a time on the CPU's own clock, so that it is as long on a busy machine. */
  static void burn(long ms) {
    var threads = java.lang.management.ManagementFactory.getThreadMXBean();
    long until = threads.getCurrentThreadCpuTime() + ms * 1_000_000;
    long x = 1;
    while (threads.getCurrentThreadCpuTime() < until) {
      for (int i = 0; i < 1000; i++) {
        x = x * 31 + 7;
      }
      sink = x;
    }
  }
}
