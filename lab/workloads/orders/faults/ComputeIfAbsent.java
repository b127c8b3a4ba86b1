import java.util.concurrent.ConcurrentHashMap;

/** A cache whose entry is made anew by everybody, under the lock of its bin. */
public final class ComputeIfAbsent implements Fault {
    private final ConcurrentHashMap<String, Integer> cache = new ConcurrentHashMap<>();

    public void duringOperation(int worker, boolean active) {
        if (active) cache.remove("rates");
        cache.computeIfAbsent("rates", key -> load());
    }

    private int load() {
        try {
            Thread.sleep(3);
        } catch (InterruptedException stop) {
            Thread.currentThread().interrupt();
        }
        return 1;
    }
}
