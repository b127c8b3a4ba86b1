import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Sixteen parties are notified of each order at once, when notices are switched on.
 * Arguments: table of the throughput; {@code threads} for a new thread for each notice,
 * {@code pool} for threads that are kept.
 */
public final class Notices {
    private static final int PARTIES = 16;
    static volatile long last;

    public static void main(String[] args) throws Exception {
        ExecutorService pool = args[1].equals("pool") ? Executors.newFixedThreadPool(PARTIES) : null;
        Workers.start("orders", 4, args[0], worker -> order(pool));
        Switch.follow(on -> { });
    }

    static void order(ExecutorService pool) throws InterruptedException {
        last = Workers.compute(last, 60_000);
        if (!Switch.on()) {
            return;
        }
        CountDownLatch sent = new CountDownLatch(PARTIES);
        for (int i = 0; i < PARTIES; i++) {
            if (pool == null) {
                new Thread(() -> send(sent), "notice").start();
            } else {
                pool.execute(() -> send(sent));
            }
        }
        sent.await();
    }

    static void send(CountDownLatch sent) {
        last = Workers.compute(last, 500);
        sent.countDown();
    }
}
