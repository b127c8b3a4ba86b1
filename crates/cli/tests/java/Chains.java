import java.io.File;
import java.io.FileInputStream;

/**
 * Waits whose chains are known by construction, one after the other: a victim wants a lock while
 * its owner reads from a FIFO (the argument), sleeps, burns CPU, or wants a lock itself. Owners
 * begin once the victim has asked. Begins when there is a file "go"; says what victims waited, in
 * the end makes a deadlock and says so.
 */
public class Chains {
    static final class Basket {}

    static final class Stock {}

    static final class Ledger {}

    static final Object basket = new Basket();
    static final Object stock = new Stock();
    static final Object ledger = new Ledger();

    static volatile boolean held;
    static volatile boolean asked;
    static volatile boolean stuck;
    static volatile long sum;

    interface Body {
        void run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        while (!new File("go").exists()) {
            Thread.sleep(20);
        }
        chain("reading", () -> {
            try (FileInputStream fifo = new FileInputStream(args[0])) {
                fifo.read();
            }
        });
        chain("napping", () -> Thread.sleep(700));
        chain("burning", () -> burn(900_000_000));
        three();
        Thread packer = thread("packer", () -> both(stock, ledger));
        Thread buyer = thread("buyer", () -> both(ledger, stock));
        while (packer.getState() != Thread.State.BLOCKED || buyer.getState() != Thread.State.BLOCKED) {
            Thread.sleep(20);
        }
        Thread.sleep(500);
        System.out.println("stuck");
        Thread.sleep(120_000);
    }

    /** An owner that does something while a victim wants its lock. */
    static void chain(String name, Body what) throws Exception {
        held = asked = false;
        Thread owner = thread(name + "-owner", () -> {
            synchronized (basket) {
                held = true;
                await(() -> asked);
                what.run();
            }
        });
        Thread victim = thread(name + "-victim", () -> wants(name + "-victim", basket));
        owner.join();
        victim.join();
    }

    /**
     * Three locks in a row: first wants what second holds, who wants what third holds, who sleeps.
     */
    static void three() throws Exception {
        held = asked = false;
        stuck = false;
        Thread third = thread("third", () -> {
            synchronized (ledger) {
                held = true;
                await(() -> asked);
                Thread.sleep(900);
            }
        });
        Thread second = thread("second", () -> {
            await(() -> held);
            synchronized (stock) {
                stuck = true;
                synchronized (ledger) {
                    sum++;
                }
            }
        });
        Thread first = thread("first", () -> {
            await(() -> stuck);
            wants("first", stock);
        });
        third.join();
        second.join();
        first.join();
    }

    static void both(Object one, Object other) throws Exception {
        synchronized (one) {
            Thread.sleep(300);
            synchronized (other) {
                sum++;
            }
        }
    }

    interface Condition {
        boolean holds();
    }

    static void await(Condition condition) throws Exception {
        while (!condition.holds()) {
            Thread.sleep(2);
        }
    }

    static void wants(String name, Object lock) throws Exception {
        await(() -> held);
        System.out.println("asks " + name);
        long began = System.nanoTime();
        asked = true;
        synchronized (lock) {
            System.out.println("waited " + name + " " + (System.nanoTime() - began));
        }
    }

    /** So much work, however long the machine takes for it. */
    static void burn(int times) {
        int x = times;
        for (int i = 0; i < times; i++) {
            x = x * 31 + (x >>> 3) + i;
        }
        sum = x;
    }

    /** Whoever looks on from outside has to find a new thread first. */
    static Thread thread(String name, Body body) {
        Thread thread = new Thread(() -> {
            try {
                Thread.sleep(1200);
                body.run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }
}
