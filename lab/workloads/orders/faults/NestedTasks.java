import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Tasks that wait for two tasks of another pool, and then for two that stand in
 * the queue of their own.
 */
public final class NestedTasks implements Fault {
    private ExecutorService quotes;
    private ExecutorService prices;
    private volatile boolean shared;

    public void prepare(int workers) {
        quotes = pool("quotes", workers / 2);
        prices = pool("prices", workers / 2);
    }

    private static ExecutorService pool(String name, int threads) {
        AtomicInteger made = new AtomicInteger();
        return Executors.newFixedThreadPool(threads, task -> {
            Thread thread = new Thread(task, name + "-" + made.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        });
    }

    public void changed(boolean active) {
        shared = active;
    }

    public void duringOperation(int worker, boolean active) throws Exception {
        quotes.submit(this::quote).get(10, TimeUnit.SECONDS);
    }

    private int quote() throws Exception {
        List<Future<Integer>> parts = new ArrayList<>();
        for (int i = 0; i < 2; i++) parts.add((shared ? quotes : prices).submit(NestedTasks::price));
        int sum = 0;
        for (Future<Integer> part : parts) {
            try {
                sum += part.get(200, TimeUnit.MILLISECONDS);
            } catch (TimeoutException late) {
                part.cancel(true);
            }
        }
        return sum;
    }

    private static int price() throws Exception {
        Thread.sleep(2);
        return 1;
    }
}
