import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Prices are read under a fair lock, and a feed writes them over and over for 60 ms under it. */
public final class PriceFeed implements Fault {
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock(true);
    private Map<Integer, Integer> prices = new HashMap<>();

    @Override public void changed(boolean on) {
        if (on) Faults.daemon("price-feed", () -> {
            while (Switch.on()) {
                reload();
                Thread.sleep(3);
            }
        });
    }

    private void reload() {
        lock.writeLock().lock();
        try {
            long end = System.nanoTime() + 60_000_000;
            while (System.nanoTime() < end) {
                Map<Integer, Integer> read = new HashMap<>();
                for (int i = 0; i < 6000; i++) read.put(i, Integer.parseInt("" + i * 7));
                prices = read;
            }
        } finally {
            lock.writeLock().unlock();
        }
    }

    @Override public void answer(Map<String, Object> reply, Random random, boolean on) {
        lock.readLock().lock();
        try {
            reply.put("price", prices.getOrDefault(random.nextInt(6000), 1));
        } finally {
            lock.readLock().unlock();
        }
    }
}
