import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** Tasks for a pool of one thread, which take 4 ms instead of none. */
public final class StarvedPool implements Fault {
    private final ExecutorService pool = Executors.newFixedThreadPool(1, task -> {
        Thread thread = new Thread(task, "render-pool-1");
        thread.setDaemon(true);
        return thread;
    });

    public void duringOperation(int worker, boolean active) throws Exception {
        pool.submit(() -> render(active)).get(10, TimeUnit.SECONDS);
    }

    private int render(boolean active) throws Exception {
        if (active) Thread.sleep(4);
        return 1;
    }
}
