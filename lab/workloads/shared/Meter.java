import java.io.PrintStream;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;

/** Counts operations and writes how many there were in each half second. */
final class Meter {
    private static final long TICK_NS = 500_000_000L;
    private final LongAdder done = new LongAdder();

    void count() {
        done.increment();
    }

    long all() {
        return done.sum();
    }

    /** Writes the table from a thread of its own, until the program ends. */
    void write(String csv) {
        Thread thread = new Thread(() -> table(csv), "meter");
        thread.setDaemon(true);
        thread.start();
    }

    private void table(String csv) {
        long began = System.nanoTime(), last = 0;
        try (PrintStream out = new PrintStream(csv)) {
            out.println("time,operations");
            for (long tick = 1; ; tick++) {
                LockSupport.parkNanos(began + tick * TICK_NS - System.nanoTime());
                long now = done.sum();
                out.println(System.currentTimeMillis() + "," + (now - last));
                out.flush();
                last = now;
            }
        } catch (java.io.IOException failure) {
            failure.printStackTrace();
        }
    }
}
