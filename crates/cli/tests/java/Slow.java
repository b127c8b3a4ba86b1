import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Does nothing until it is asked to: "gc", "lock MS" (one thread holds a monitor, another waits for
 * it), "threads MS" (a hundred more for a while), "pool N" (so many threads without a task), "ask
 * MS" (one of them has a task that waits for an answer), "quit".
 */
public class Slow {
  private static final Object LEDGER = new Object();
  private static ThreadPoolExecutor pool;

  public static void main(String[] args) throws Exception {
    System.out.println("ready");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
    for (String line = in.readLine(); line != null && !line.equals("quit"); line = in.readLine()) {
      String[] words = line.split(" ");
      if (words[0].equals("gc")) {
        System.gc();
      } else if (words[0].equals("threads")) {
        threads(Long.parseLong(words[1]));
      } else if (words[0].equals("pool")) {
        pool(Integer.parseInt(words[1]));
      } else if (words[0].equals("ask")) {
        pool.submit(() -> ask(Long.parseLong(words[1]))).get();
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

  private static void pool(int threads) {
    AtomicInteger number = new AtomicInteger();
    pool = (ThreadPoolExecutor) Executors.newFixedThreadPool(threads, task -> {
      Thread thread = new Thread(task, "http-" + number.incrementAndGet());
      thread.setDaemon(true);
      return thread;
    });
    pool.prestartAllCoreThreads();
  }

  private static void ask(long millis) {
    CountDownLatch answered = new CountDownLatch(1);
    new Thread(() -> {
      sleep(millis);
      answered.countDown();
    }, "answers").start();
    try {
      answered.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
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
