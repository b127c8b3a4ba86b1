import java.util.Map;
import java.util.Random;

/**
 * No fault: some megabytes are kept for a while, and a lock is taken by one request at a
 * time for very little.
 */
public final class UsedCache implements Fault {
    private byte[][] cache = new byte[0][];
    private long asked;

    @Override public synchronized void changed(boolean on) {
        cache = new byte[on ? 20_000 : 0][];
        for (int i = 0; i < cache.length; i++) cache[i] = new byte[500];
    }

    @Override public synchronized void answer(Map<String, Object> reply, Random random, boolean on) {
        reply.put("asked", ++asked + cache.length);
    }
}
