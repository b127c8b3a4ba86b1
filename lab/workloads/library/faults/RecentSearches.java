import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Random;

/** A list of recent searches that grows, and that each request goes through under its lock. */
public final class RecentSearches implements Fault {
    private final Map<String, Object> recent = Collections.synchronizedMap(new LinkedHashMap<>());

    @Override public void changed(boolean on) {
        recent.clear();
        for (int i = 0; on && i < 200_000; i++) recent.put("query-" + i, i);
    }

    @Override public void answer(Map<String, Object> reply, Random random, boolean on) {
        recent.put("query-" + random.nextInt(50), System.nanoTime());
        reply.put("recent", remember());
    }

    private int remember() {
        int odd = 0;
        synchronized (recent) {
            for (Object at : recent.values()) odd += at.hashCode() & 1;
        }
        return odd;
    }
}
