import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A transactional service over an in-memory store, for many tenants. Each tenant's stored
 * procedures are loaded by a class loader of their own, as in application servers and plug-in
 * systems, so that the JVM profiles and compiles them for each tenant anew.
 *
 * <p>In mid-run the node takes over the tenants of another node and hands its own away (a
 * fail-over, a rebalancing): the load stays the same, but its code was never run here and becomes
 * hot all at once. {@code takeOverAt=0} leaves that out.
 */
public final class TransactionService {
  private static final int TICK_MS = 500;

  private final byte[] procedureClass = procedureClass();
  private volatile Tenant[] serving = {};
  private volatile boolean stopped;

  private static final class Tenant {
    final Store store = new Store();
    final Procedures procedures;

    Tenant(byte[] procedureClass) throws ReflectiveOperationException {
      procedures = new TenantLoader(procedureClass).load();
    }
  }

  /** Defines its own copy of the procedures; everything else comes from the service. */
  private static final class TenantLoader extends ClassLoader {
    private final byte[] bytes;

    TenantLoader(byte[] bytes) {
      super(TransactionService.class.getClassLoader());
      this.bytes = bytes;
    }

    Procedures load() throws ReflectiveOperationException {
      Class<?> type = defineClass("TenantProcedures", bytes, 0, bytes.length);
      return (Procedures) type.getDeclaredConstructor().newInstance();
    }
  }

  /** What one worker did. It writes these once in 64 transactions. */
  private static final class Counter {
    final AtomicLong done = new AtomicLong();
    volatile long checksum;
  }

  public static void main(String[] args) throws Exception {
    Path csv = Paths.get(args[0]);
    int seconds = Integer.parseInt(args[1]);
    int takeOverAt = Integer.parseInt(args[2]);
    int tenants = Integer.parseInt(args[3]);
    int workers = Integer.parseInt(args[4]);
    new TransactionService().serve(csv, seconds, takeOverAt, tenants, workers);
  }

  private void serve(Path csv, int seconds, int takeOverAt, int tenants, int workers) throws Exception {
    serving = tenants(tenants);
    Counter[] counters = new Counter[workers];
    Thread[] threads = new Thread[workers];
    for (int i = 0; i < workers; i++) {
      Counter counter = counters[i] = new Counter();
      int worker = i;
      threads[i] = new Thread(() -> work(counter, worker, workers), "worker-" + i);
      threads[i].setUncaughtExceptionHandler(TransactionService::fail);
      threads[i].start();
    }
    try (PrintStream out = new PrintStream(Files.newOutputStream(csv), true, "US-ASCII")) {
      out.println("time(epoch_ms),throughput(txs)");
      tick(out, counters, seconds, takeOverAt);
    }
    stopped = true;
    for (Thread thread : threads) {
      thread.join();
    }
    System.out.println("checksum " + Arrays.stream(counters).mapToLong(c -> c.checksum).sum());
  }

  /**
   * Writes the transactions done since the last line, and takes the other tenants over when
   * their time has come.
   */
  private void tick(PrintStream out, Counter[] counters, int seconds, int takeOverAt) throws Exception {
    long start = System.nanoTime();
    long before = 0;
    boolean pending = takeOverAt > 0;
    for (long next = TICK_MS; next <= seconds * 1000L; next += TICK_MS) {
      long wait = next - (System.nanoTime() - start) / 1_000_000;
      if (wait > 0) {
        Thread.sleep(wait);
      }
      long done = Arrays.stream(counters).mapToLong(c -> c.done.get()).sum();
      out.println(System.currentTimeMillis() + "," + (done - before));
      before = done;
      if (pending && next >= takeOverAt * 1000L) {
        pending = false;
        serving = tenants(serving.length);
      }
    }
  }

  private Tenant[] tenants(int count) throws ReflectiveOperationException {
    Tenant[] tenants = new Tenant[count];
    for (int i = 0; i < count; i++) {
      tenants[i] = new Tenant(procedureClass);
    }
    return tenants;
  }

  /** A service that lost a worker would show a dip of its own. */
  private static void fail(Thread thread, Throwable cause) {
    cause.printStackTrace();
    System.exit(70);
  }

  /**
   * Serves the worker's own share of the tenants. Rows that two workers lock in turn would move
   * between the caches of two CPUs, which takes more or less time by where a virtual machine's
   * CPUs happen to run: the throughput would change for a reason that is not the service's.
   */
  private void work(Counter counter, int worker, int workers) {
    long checksum = 0;
    while (!stopped) {
      Tenant[] tenants = serving;
      ThreadLocalRandom random = ThreadLocalRandom.current();
      for (int i = 0; i < 64; i++) {
        Tenant tenant = tenants[random.nextInt(tenants.length / workers) * workers + worker];
        checksum += tenant.procedures.run(tenant.store, random.nextLong());
      }
      counter.done.lazySet(counter.done.get() + 64);
    }
    counter.checksum = checksum;
  }

  private static byte[] procedureClass() {
    try (InputStream in = TransactionService.class.getResourceAsStream("TenantProcedures.class")) {
      if (in == null) {
        throw new IllegalStateException("TenantProcedures.class is not on the class path");
      }
      return in.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
