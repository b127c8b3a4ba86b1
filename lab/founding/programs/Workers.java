import java.util.Random;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that do one operation after the other, with a pause in between, and a table
 * of how many are done.
 */
final class Workers {
    /** What is done again and again. */
    interface Operation {
        void run(int worker) throws Exception;
    }

    private Workers() {}

    static void start(String name, int count, String csv, Operation operation) {
        Meter meter = new Meter();
        for (int i = 0; i < count; i++) {
            int worker = i;
            Thread thread = new Thread(() -> work(worker, meter, operation), name + "-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        meter.write(csv);
    }

    private static void work(int worker, Meter meter, Operation operation) {
        Random random = new Random(worker);
        try {
            while (true) {
                operation.run(worker);
                meter.count();
                LockSupport.parkNanos(500_000 + random.nextInt(1_000_000));
            }
        } catch (Exception failure) {
            throw new IllegalStateException(failure);
        }
    }

    /** Work on a CPU, as any request has. */
    static long compute(long seed, int rounds) {
        long sum = seed;
        for (int i = 0; i < rounds; i++) {
            sum += (sum ^ i) >>> (i & 7);
            sum ^= Long.rotateLeft(sum, 11);
        }
        return sum;
    }
}
