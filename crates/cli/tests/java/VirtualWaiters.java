import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Threads of the platform hold a monitor and a lock, asleep, for which virtual threads wait; over
 * and over. What the waits took in all, the program measures and says. Virtual threads are started
 * by reflection, so that it compiles for JDKs that have none.
 */
public class VirtualWaiters {
    static final int TIMES = 25;
    static final ReentrantLock LOCK = new ReentrantLock();
    static final Account ACCOUNT = new Account();

    static class Account {}

    /** A virtual thread, and what it waits for once somebody has taken it and says so. */
    static class Waiter {
        final String what;
        final Runnable acquire;
        final long[] waits = new long[TIMES];
        volatile int turn;
        volatile boolean over;
        volatile Thread thread;

        Waiter(String what, Runnable acquire) {
            this.what = what;
            this.acquire = acquire;
        }

        void run() {
            thread = Thread.currentThread();
            for (int i = 0; i < TIMES; i++) {
                // Parked for nothing that could be held.
                while (turn <= i) {
                    LockSupport.park();
                }
                long t0 = System.nanoTime();
                acquire.run();
                waits[i] = System.nanoTime() - t0;
            }
            over = true;
        }

        void next() {
            turn++;
            LockSupport.unpark(thread);
            nap(40);
        }

        void tell() {
            long sum = 0;
            for (long wait : waits) {
                sum += wait;
            }
            System.out.println(what + " #" + thread.getId() + " " + sum);
        }
    }

    public static void main(String[] args) throws Exception {
        Waiter monitor = new Waiter("monitor", VirtualWaiters::enter);
        Waiter lock = new Waiter("lock", VirtualWaiters::lock);
        for (Waiter waiter : new Waiter[] {monitor, lock}) {
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, (Runnable) waiter::run);
        }
        Thread.sleep(500);
        System.out.println("ready");
        System.in.read();
        Thread[] owners = {
            start("monitor-owner", () -> holdMonitor(monitor)), start("lock-owner", () -> holdLock(lock))
        };
        for (Thread owner : owners) {
            owner.join();
        }
        monitor.tell();
        lock.tell();
        System.out.println("done");
        System.in.read();
        System.exit(0);
    }

    static void enter() {
        synchronized (ACCOUNT) {
        }
    }

    static void lock() {
        LOCK.lock();
        LOCK.unlock();
    }

    static void holdMonitor(Waiter waiter) {
        while (!waiter.over) {
            synchronized (ACCOUNT) {
                waiter.next();
            }
            nap(20);
        }
    }

    static void holdLock(Waiter waiter) {
        while (!waiter.over) {
            LOCK.lock();
            try {
                waiter.next();
            } finally {
                LOCK.unlock();
            }
            nap(20);
        }
    }

    static Thread start(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    static void nap(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
