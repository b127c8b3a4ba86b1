import java.util.concurrent.locks.ReentrantLock;

/** A lock of java.util.concurrent that is held for some hundred microseconds of computing. */
public final class BusyLock implements Fault {
    private final ReentrantLock lock = new ReentrantLock();
    private double rate = 1;

    public void duringOperation(int worker, boolean active) {
        lock.lock();
        try {
            convert(active ? 60_000 : 20);
        } finally {
            lock.unlock();
        }
    }

    private void convert(int rounds) {
        for (int i = 0; i < rounds; i++) rate = Math.sqrt(rate + i);
    }
}
