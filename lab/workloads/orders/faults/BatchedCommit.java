import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;

/** Operations wait for a batch that another thread commits every 40 ms instead of at once. */
public final class BatchedCommit implements Fault {
    private final LinkedBlockingQueue<CompletableFuture<Void>> pending = new LinkedBlockingQueue<>();

    public void prepare(int workers) {
        Faults.daemon("journal-committer", () -> {
            while (true) {
                CompletableFuture<Void> first = pending.take();
                if (Service.active) Thread.sleep(40);
                first.complete(null);
                for (CompletableFuture<Void> next; (next = pending.poll()) != null; ) next.complete(null);
            }
        });
    }

    public void duringOperation(int worker, boolean active) throws Exception {
        CompletableFuture<Void> committed = new CompletableFuture<>();
        pending.add(committed);
        committed.get();
    }
}
