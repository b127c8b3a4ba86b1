import java.util.concurrent.locks.ReentrantLock;

/**
 * A virtual thread holds a lock, asleep, for which a thread of the platform waits; over and over.
 * Virtual threads are started by reflection, so that it compiles for JDKs that have none.
 */
public class VirtualLocks {
    static final int TIMES = 40;
    static final ReentrantLock LOCK = new ReentrantLock();
    static volatile boolean watched;
    static volatile boolean over;

    public static void main(String[] args) throws Exception {
        Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) VirtualLocks::hold);
        Thread waiter = new Thread(VirtualLocks::take, "waiter");
        waiter.start();
        Thread.sleep(500);
        System.out.println("ready");
        System.in.read();
        watched = true;
        waiter.join();
        over = true;
        System.out.println("done");
        System.in.read();
        Thread.sleep(60_000);
    }

    static void hold() {
        while (!over) {
            LOCK.lock();
            try {
                nap(30);
            } finally {
                LOCK.unlock();
            }
            nap(5);
        }
    }

    static void take() {
        for (int i = 0; i < TIMES; i++) {
            while (!watched) {
                nap(5);
            }
            nap(10);
            LOCK.lock();
            LOCK.unlock();
        }
    }

    static void nap(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
