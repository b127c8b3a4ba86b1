import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.util.concurrent.ThreadLocalRandom;

/** A cache that nearly fills the old generation, and of which every operation replaces some. */
public final class HeapTooSmall implements Fault {
    private static final int EACH = 1_000;
    private volatile byte[][] cache = new byte[0][];
    static volatile byte[] scratch;

    /** What the old generation may hold; G1's may be the whole heap. */
    private static long room() {
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getName().matches(".*(Old|Tenured).*")) return pool.getUsage().getMax();
        }
        return Runtime.getRuntime().maxMemory();
    }

    public void changed(boolean active) {
        byte[][] kept = new byte[active ? (int) (room() * 0.85 / (EACH + 24)) : 0][];
        for (int i = 0; i < kept.length; i++) kept[i] = new byte[EACH];
        cache = kept;
    }

    public void duringOperation(int worker, boolean active) {
        scratch = new byte[50_000];
        byte[][] kept = cache;
        if (kept.length == 0) return;
        ThreadLocalRandom random = ThreadLocalRandom.current();
        for (int i = 0; i < 30; i++) kept[random.nextInt(kept.length)] = new byte[EACH];
    }
}
