import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Operations that cost as much as they are asked to: {@code java Dearer SECONDS TIMES DIRECTORY}
 * writes DIRECTORY/throughput.csv (epoch milliseconds, operations a second). Of each operation
 * {@code same} takes as long in every run and {@code dearer} TIMES as long; now and then an
 * operation holds a lock on which another thread waits.
 */
public class Dearer {
  static final AtomicLong done = new AtomicLong();
  static final Object lock = new Object();
  static volatile long result;

  public static void main(String[] args) throws Exception {
    int seconds = Integer.parseInt(args[0]);
    int times = Integer.parseInt(args[1]);
    for (int worker = 0; worker < 2; worker++) {
      Thread thread = new Thread(() -> work(times), "worker-" + worker);
      thread.setDaemon(true);
      thread.start();
    }
    long start = System.nanoTime();
    try (OutputStream table = Files.newOutputStream(Path.of(args[2], "throughput.csv"))) {
      table.write("timestamp_ms,throughput(ops/s)\n".getBytes(StandardCharsets.UTF_8));
      long before = done.get();
      for (long half = 1; half <= 2 * seconds; half++) {
        Thread.sleep(Math.max(1, (start + half * 500_000_000L - System.nanoTime()) / 1_000_000));
        long now = done.get();
        table.write((System.currentTimeMillis() + "," + 2 * (now - before) + "\n").getBytes(StandardCharsets.UTF_8));
        before = now;
      }
    }
  }

  static void work(int times) {
    for (long operation = 0; ; operation++) {
      long value = same(operation);
      for (int i = 0; i < times; i++) {
        value ^= dearer(value);
      }
      if (operation % 256 == 0) {
        held();
      }
      result = value;
      done.incrementAndGet();
    }
  }

  static long same(long seed) {
    long value = seed;
    for (int i = 0; i < 100_000; i++) {
      value = value * 6364136223846793005L + (value >>> 17);
    }
    return value;
  }

  static long dearer(long seed) {
    long value = seed;
    for (int i = 0; i < 40_000; i++) {
      value = value * 2862933555777941757L ^ (value >>> 11);
    }
    return value;
  }

  static void held() {
    synchronized (lock) {
      try {
        Thread.sleep(25);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
