import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.locks.LockSupport;

/**
 * A small order service with a fault that begins and ends: {@code Service WORKERS CSV FAULT}.
 *
 * <p>Every worker does one operation after the other and thinks for some milliseconds in between.
 * The operations of each half second are written to CSV. The faults of the classes FAULT
 * (a list with commas, {@code none}: there is none) are active while {@link Switch} says so.
 */
public final class Service {
    private static final Meter METER = new Meter();
    static volatile boolean active;
    static volatile double thinkFactor = 1;

    /** What an operation does when all is well: some 0.2 ms of CPU time. */
    static final class Order {
        private final Random random;
        private final MessageDigest digest;

        Order(int seed) throws Exception {
            random = new Random(seed);
            digest = MessageDigest.getInstance("SHA-256");
        }

        int price() {
            Map<String, Integer> items = new HashMap<>();
            for (int i = 0; i < 40; i++) items.put("item-" + random.nextInt(1000), i);
            int[] prices = random.ints(300, 0, 100_000).toArray();
            Arrays.sort(prices);
            byte[] hash = digest.digest(new byte[1024 + items.size()]);
            return prices[150] + hash[0];
        }
    }

    private static void work(int worker, List<Fault> faults) {
        try {
            Order order = new Order(worker);
            while (true) {
                order.price();
                for (Fault fault : faults) fault.duringOperation(worker, active);
                METER.count();
                LockSupport.parkNanos((long) (4_000_000 * thinkFactor));
            }
        } catch (Throwable failure) {
            failure.printStackTrace();
        }
    }

    public static void main(String[] args) throws Exception {
        int workers = Integer.parseInt(args[0]);
        List<Fault> faults = Faults.named(args[2], Fault.class);
        for (Fault fault : faults) fault.prepare(workers);
        for (int i = 0; i < workers; i++) {
            int worker = i;
            new Thread(() -> work(worker, faults), "order-worker-" + i).start();
        }
        METER.write(args[1]);
        Switch.follow(on -> {
            active = on;
            for (Fault fault : faults) fault.changed(on);
        });
    }
}
