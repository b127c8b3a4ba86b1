import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Waits for locks that are known by construction: for each kind of lock an owner that holds it for
 * a time, asleep, and a waiter that wants it meanwhile and measures how long it took. Begins when
 * it is asked to; says of each wait when it began, milliseconds of the epoch, and how many
 * nanoseconds it took.
 */
public class Locks {
    static final class Account {}

    static final int TIMES = 40;
    static final long HOLD_MS = 30;

    // No lambdas inside the locks: a JVM links one at its first use, and takes locks
    // of its own for that.
    static final class Clock implements Runnable {
        long at;

        public void run() {
            at = System.nanoTime();
        }
    }

    static final class Turn implements Runnable {
        final int number;

        Turn(int number) {
            this.number = number;
        }

        public void run() {
            turn = number;
            nap(HOLD_MS);
        }
    }

    interface Held {
        void hold(Runnable inside);
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        System.in.read();
        Account account = new Account();
        take("monitor", inside -> {
            synchronized (account) {
                inside.run();
            }
        });
        take("reentrant", by(new ReentrantLock()));
        take("write", by(new ReentrantReadWriteLock().writeLock()));
        System.out.println("done");
        System.in.read();
        Thread.sleep(60_000);
    }

    static Held by(Lock lock) {
        return inside -> {
            lock.lock();
            try {
                inside.run();
            } finally {
                lock.unlock();
            }
        };
    }

    static volatile int turn;
    static volatile int done;

    static void take(String name, Held lock) throws Exception {
        turn = 0;
        done = 0;
        StringBuilder measured = new StringBuilder();
        Clock held = new Clock();
        // Whoever looks on from outside has to find a new thread first.
        Thread owner = new Thread(() -> {
            nap(1000);
            for (int i = 1; i <= TIMES; i++) {
                lock.hold(new Turn(i));
                while (done < i) {
                    nap(1);
                }
            }
        }, name + "-owner");
        Thread waiter = new Thread(() -> {
            for (int i = 1; i <= TIMES; i++) {
                while (turn < i) {
                    nap(1);
                }
                // Who asks again at once after having had the lock seems to have waited on.
                nap(2);
                long began = System.currentTimeMillis();
                long asked = System.nanoTime();
                lock.hold(held);
                measured.append(name).append(' ').append(began).append(' ').append(held.at - asked).append('\n');
                done = i;
            }
        }, name + "-waiter");
        owner.start();
        waiter.start();
        owner.join();
        waiter.join();
        System.out.print(measured);
    }

    static void nap(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
