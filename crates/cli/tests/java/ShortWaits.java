import java.util.concurrent.locks.LockSupport;

/** A worker that waits shortly in two places, in turns, and long in a third between its rounds. */
public class ShortWaits {
  public static void main(String[] args) throws Exception {
    Thread worker = new Thread(ShortWaits::work, "worker");
    worker.setDaemon(true);
    worker.start();
    System.out.println("ready");
    System.out.flush();
    Thread.sleep(Long.parseLong(args[0]) * 1000);
  }

  static void work() {
    while (true) {
      for (int i = 0; i < 5; i++) {
        first();
        second();
      }
      idle();
    }
  }

  static void first() {
    LockSupport.parkNanos(250_000);
  }

  static void second() {
    LockSupport.parkNanos(550_000);
  }

  static void idle() {
    LockSupport.parkNanos(20_000_000);
  }
}
