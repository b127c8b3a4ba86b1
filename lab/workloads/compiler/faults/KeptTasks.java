import java.util.List;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicInteger;

/** A history of builds, which keeps the compiler with all that it knows of each of them. */
public final class KeptTasks implements Fault {
    private static final int MOST = 62;
    private final ConcurrentLinkedQueue<Job> history = new ConcurrentLinkedQueue<>();
    private final AtomicInteger size = new AtomicInteger();

    @Override public void changed(boolean on) {
        if (on) return;
        history.clear();
        size.set(0);
    }

    @Override public void done(Job job, List<byte[]> classes, boolean on) {
        if (!on) return;
        history.add(job);
        if (size.incrementAndGet() > MOST) history.poll();
    }
}
