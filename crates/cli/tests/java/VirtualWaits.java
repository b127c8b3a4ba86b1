import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Virtual threads, started by reflection so that it compiles for JDKs that have none: many sleep,
 * some wait for a lock, and a few never rest, so that each switch of theirs would hit a probe; with
 * an argument there are none of those.
 */
public class VirtualWaits {
    static final int SLEEPERS = 40;
    static final int WAITERS = 20;
    static final int RESTLESS = 12;
    static final ReentrantLock LOCK = new ReentrantLock();
    static volatile long switches;

    public static void main(String[] args) throws Exception {
        LOCK.lock();
        CountDownLatch begun = new CountDownLatch(SLEEPERS + WAITERS);
        start(SLEEPERS, () -> {
            begun.countDown();
            sleeps();
        });
        start(WAITERS, () -> {
            begun.countDown();
            waits();
        });
        if (args.length == 0) {
            start(RESTLESS, VirtualWaits::rushes);
        }
        begun.await();
        Thread.sleep(300);
        System.out.println("ready");
        System.in.read();
    }

    static void start(int count, Runnable work) throws Exception {
        for (int i = 0; i < count; i++) {
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
        }
    }

    static void sleeps() {
        try {
            Thread.sleep(600_000);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void waits() {
        LOCK.lock();
        LOCK.unlock();
    }

    static void rushes() {
        while (true) {
            LockSupport.parkNanos(100_000);
            switches++;
        }
    }
}
