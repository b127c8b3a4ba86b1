import java.lang.reflect.Method;
import java.math.BigInteger;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/**
 * What a change of the JDK makes faster or slower, one program each; prints what it took. "modpow",
 * "multiply": large numbers, for which there is machine code. "supers": casts to one interface
 * after the other, by two threads. "pinned": virtual threads that sleep with a monitor. "strings":
 * hashes of text that is Latin-1. "locks": a monitor that one thread takes again and again.
 */
public final class Changes {
  interface First {}

  interface Second {}

  static final class Both implements First, Second {}

  static volatile long sink;

  public static void main(String[] args) throws Exception {
    int rounds = Integer.parseInt(args[1]);
    long began = System.nanoTime();
    switch (args[0]) {
      case "modpow":
        modpow(rounds);
        break;
      case "multiply":
        multiply(rounds);
        break;
      case "supers":
        both(() -> supers(rounds));
        break;
      case "pinned":
        pinned(rounds);
        break;
      case "strings":
        strings(rounds);
        break;
      case "locks":
        locks(rounds);
        break;
      default:
        throw new IllegalArgumentException(args[0]);
    }
    System.out.println("took " + (System.nanoTime() - began) / 1e6 + " ms");
  }

  private static void modpow(int rounds) {
    BigInteger modulus = new BigInteger(2048, new Random(1)).setBit(0);
    BigInteger base = new BigInteger(2040, new Random(2));
    for (int round = 0; round < rounds; round++) {
      base = base.modPow(BigInteger.valueOf(65_537), modulus);
    }
    sink = base.longValue();
  }

  private static void multiply(int rounds) {
    BigInteger one = new BigInteger(2048, new Random(1));
    BigInteger other = new BigInteger(2040, new Random(2));
    long sum = 0;
    for (int round = 0; round < rounds; round++) {
      sum += one.multiply(other).longValue();
      other = other.add(BigInteger.ONE);
    }
    sink = sum;
  }

  private static void supers(int rounds) {
    Object object = new Both();
    long sum = 0;
    for (int round = 0; round < rounds; round++) {
      sum += first(object) + second(object);
    }
    sink = sum;
  }

  private static int first(Object object) {
    return object instanceof First ? 1 : 0;
  }

  private static int second(Object object) {
    return object instanceof Second ? 1 : 0;
  }

  private static void both(Runnable work) throws InterruptedException {
    Thread other = new Thread(work);
    other.start();
    work.run();
    other.join();
  }

  /** By reflection: it is compiled for Java 8. */
  private static void pinned(int threads) throws Exception {
    Method each = Executors.class.getMethod("newVirtualThreadPerTaskExecutor");
    ExecutorService executor = (ExecutorService) each.invoke(null);
    for (int i = 0; i < threads; i++) {
      executor.execute(Changes::sleepWithAMonitor);
    }
    executor.shutdown();
    executor.awaitTermination(1, TimeUnit.MINUTES);
  }

  private static void sleepWithAMonitor() {
    synchronized (new Object()) {
      try {
        Thread.sleep(20);
      } catch (InterruptedException ignored) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static void locks(int rounds) {
    StringBuffer[] buffers = new StringBuffer[64];
    for (int i = 0; i < buffers.length; i++) {
      buffers[i] = new StringBuffer();
    }
    long sum = 0;
    for (int round = 0; round < rounds; round++) {
      sum += buffers[round % buffers.length].length();
    }
    sink = sum;
  }

  private static void strings(int rounds) {
    char[] text = new char[4096];
    java.util.Arrays.fill(text, 'x');
    long sum = 0;
    for (int round = 0; round < rounds; round++) {
      text[round % text.length]++;
      sum += new String(text).hashCode();
      text[round % text.length]--;
    }
    sink = sum;
  }
}
