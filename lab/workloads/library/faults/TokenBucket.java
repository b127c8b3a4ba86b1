import java.util.Map;
import java.util.Random;

/** A limit of requests a second becomes 150; those above it sleep and ask again. */
public final class TokenBucket implements Fault {
    private double tokens;
    private long filledAt = System.nanoTime();

    @Override public void answer(Map<String, Object> reply, Random random, boolean on) throws Exception {
        while (!taken(on ? 150 : 100_000)) Thread.sleep(3);
    }

    private synchronized boolean taken(double perSecond) {
        long now = System.nanoTime();
        tokens = Math.min(50, tokens + (now - filledAt) * perSecond / 1e9);
        filledAt = now;
        if (tokens < 1) return false;
        tokens--;
        return true;
    }
}
