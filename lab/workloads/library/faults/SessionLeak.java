import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.util.Map;
import java.util.Queue;
import java.util.Random;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicLong;

/** Sessions that are kept until the heap is nearly full. */
public final class SessionLeak implements Fault {
    private final Queue<byte[]> sessions = new ConcurrentLinkedQueue<>();
    private final AtomicLong kept = new AtomicLong();
    private volatile long room;

    @Override public void changed(boolean on) {
        MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        room = on ? (long) ((heap.getMax() - 30_000_000) * 0.9) : 0;
        if (!on) sessions.clear();
    }

    @Override public void answer(Map<String, Object> reply, Random random, boolean on) {
        for (int i = 0; i < 300; i++) {
            if (on && kept.get() < room) {
                sessions.add(new byte[2000]);
                kept.addAndGet(2040);
            }
        }
        reply.put("sessions", kept.get());
    }
}
