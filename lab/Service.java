import java.io.PrintStream;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * A small order service with a fault that begins and ends: {@code Service WORKERS SECONDS FROM TO CSV FAULT}.
 *
 * <p>Every worker does one operation after the other and thinks for some milliseconds in between. The operations of each half second are
 * written to CSV. From second FROM to TO the fault of the class FAULT is active ({@code none}: never).
 */
public final class Service {
    static final AtomicLong operations = new AtomicLong();
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

    private static void work(int worker, Fault fault) {
        try {
            Order order = new Order(worker);
            while (true) {
                order.price();
                fault.duringOperation(worker, active);
                operations.incrementAndGet();
                LockSupport.parkNanos((long) (4_000_000 * thinkFactor));
            }
        } catch (Throwable failure) {
            failure.printStackTrace();
        }
    }

    public static void main(String[] args) throws Exception {
        int workers = Integer.parseInt(args[0]);
        double seconds = Double.parseDouble(args[1]), from = Double.parseDouble(args[2]), to = Double.parseDouble(args[3]);
        Fault fault = args[5].equals("none")
                ? new Fault() {}
                : (Fault) Class.forName(args[5]).getDeclaredConstructor().newInstance();
        fault.prepare(workers);
        for (int i = 0; i < workers; i++) {
            int worker = i;
            new Thread(() -> work(worker, fault), "order-worker-" + i).start();
        }
        long began = System.nanoTime(), last = 0;
        boolean was = false;
        try (PrintStream csv = new PrintStream(args[4])) {
            csv.println("time,operations");
            for (int tick = 1; tick <= seconds * 2; tick++) {
                LockSupport.parkNanos(began + tick * 500_000_000L - System.nanoTime());
                long now = operations.get();
                csv.println(System.currentTimeMillis() + "," + (now - last));
                csv.flush();
                last = now;
                active = tick >= from * 2 && tick < to * 2;
                if (active != was) fault.changed(active);
                was = active;
            }
        }
        Runtime.getRuntime().halt(0);
    }
}
