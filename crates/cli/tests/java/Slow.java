import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * Does nothing until it is told to: "gc", "lock MS" (one thread holds a monitor, another waits for it), "threads MS" (a hundred
 * more for a while), "quit".
 */
public class Slow {
  private static final Object LEDGER = new Object();

  public static void main(String[] args) throws Exception {
    System.out.println("ready");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null && !line.equals("quit"); line = in.readLine()) {
      String[] words = line.split(" ");
      if (words[0].equals("gc")) {
        System.gc();
      } else if (words[0].equals("threads")) {
        threads(Long.parseLong(words[1]));
      } else {
        lock(Long.parseLong(words[1]));
      }
      System.out.println("done");
    }
  }

  private static void threads(long millis) throws Exception {
    Thread[] all = new Thread[100];
    for (int i = 0; i < all.length; i++) {
      all[i] = new Thread(() -> sleep(millis), "more-" + i);
      all[i].start();
    }
    for (Thread thread : all) {
      thread.join();
    }
  }

  private static void sleep(long millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static void lock(long millis) throws Exception {
    Thread holder = new Thread(() -> hold(millis), "holder");
    holder.start();
    Thread.sleep(100);
    Thread victim = new Thread(Slow::book, "victim");
    victim.start();
    holder.join();
    victim.join();
  }

  private static void hold(long millis) {
    synchronized (LEDGER) {
      sleep(millis);
    }
  }

  private static void book() {
    synchronized (LEDGER) {
      LEDGER.hashCode();
    }
  }
}
