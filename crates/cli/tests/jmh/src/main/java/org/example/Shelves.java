package org.example;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Threads;

/** Benchmarks that wait: what for is known. */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
public class Shelves {
  /** What two threads want at the same time. */
  static final class Shelf {
    long taken;
  }

  private final Shelf shelf = new Shelf();

  /**
   * One thread sleeps for 2 ms with the lock, and the other waits for it. Whoever leaves it stays
   * away for a while: a monitor is not fair, and JMH's iteration lasts until a thread that is
   * starved has finished.
   */
  @Benchmark
  @Threads(2)
  public long locked() throws InterruptedException {
    long taken;
    synchronized (shelf) {
      Thread.sleep(2);
      taken = ++shelf.taken;
    }
    Thread.sleep(1);
    return taken;
  }
}
