import java.util.Map;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A thread that draws covers forgets its orders; requests wait for them until they give up. */
public final class StuckRenderer implements Fault {
    private final BlockingQueue<CompletableFuture<String>> orders = new LinkedBlockingQueue<>();

    @Override public void prepare(Library library) {
        Faults.daemon("cover-renderer", () -> {
            while (true) {
                CompletableFuture<String> order = orders.take();
                if (!Switch.on()) order.complete("cover");
            }
        });
    }

    @Override public void answer(Map<String, Object> reply, Random random, boolean on) throws Exception {
        reply.put("cover", cover());
    }

    private String cover() throws Exception {
        CompletableFuture<String> order = new CompletableFuture<>();
        orders.put(order);
        try {
            return order.get(120, TimeUnit.MILLISECONDS);
        } catch (TimeoutException late) {
            return "no cover";
        }
    }
}
