import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;

/** Tasks that sleep occupy the common pool, which each request needs for a moment. */
public final class BusyCommonPool implements Fault {
    @Override public void changed(boolean on) {
        for (int i = 0; on && i < 8; i++) ForkJoinPool.commonPool().execute(this::mail);
    }

    private void mail() {
        try {
            Thread.sleep(300);
        } catch (InterruptedException stop) {
            return;
        }
        if (Switch.on()) ForkJoinPool.commonPool().execute(this::mail);
    }

    @Override public void answer(Map<String, Object> reply, Random random, boolean on) throws Exception {
        reply.put("price", CompletableFuture.supplyAsync(() -> 12).get());
    }
}
