/**
 * Threads that publish in which span they are, by a library (tests/native/spans.c): one with a span
 * at a time, one with a span within another, one that is never in any.
 */
public class Spans {
  static native void enter(long trace, long span);

  static native void leave();

  static volatile long sink;

  public static void main(String[] args) throws Exception {
    start("outside", number -> nap(20));
    if (args.length > 2) {
      Thread.sleep(Long.parseLong(args[2]));
    }
    System.load(args[0]);
    start("single", Spans::single);
    start("nested", Spans::nested);
    System.out.println("ready");
    System.out.flush();
    Thread.sleep(Long.parseLong(args[1]) * 1000);
  }

  interface Work {
    void run(long number);
  }

  static void start(String name, Work work) {
    Runnable again = () -> {
      for (long number = 1; ; number++) {
        work.run(number);
      }
    };
    Thread thread = new Thread(again, name);
    thread.setDaemon(true);
    thread.start();
  }

  /** 50 ms asleep and 30 ms of work in a span, 30 ms in none. */
  static void single(long number) {
    enter(1, number);
    nap(50);
    work(30);
    leave();
    nap(30);
  }

  /** 20 ms in a span, 25 ms in one within it, 20 ms in the first again; then 35 ms in none. */
  static void nested(long number) {
    enter(1000 + number, 1);
    nap(20);
    enter(1000 + number, 2);
    nap(25);
    enter(1000 + number, 1);
    nap(20);
    leave();
    nap(35);
  }

  static void nap(long ms) {
    try {
      Thread.sleep(ms);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  /** By the thread's own clock, so that it is as long on a busy machine. */
  static void work(long ms) {
    var threads = java.lang.management.ManagementFactory.getThreadMXBean();
    long end = threads.getCurrentThreadCpuTime() + ms * 1_000_000;
    while (threads.getCurrentThreadCpuTime() < end) {
      for (int i = 0; i < 20_000; i++) {
        sink += i;
      }
    }
  }
}
