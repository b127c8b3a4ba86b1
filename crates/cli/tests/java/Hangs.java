import java.io.FileInputStream;

/**
 * Threads that hang from before the first line on, and one more of each sort that begins when
 * it is asked to: in a read of a FIFO that nobody writes to, in the opening of one that nobody
 * opens, for a monitor whose owner does not leave it. Arguments: the FIFOs, the one to read
 * and the one to open.
 */
public class Hangs {
    static final class Shelf {}

    static final Shelf SHELF = new Shelf();
    static volatile boolean held;

    interface Body {
        void run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        start("holder", Hangs::hold);
        while (!held) {
            Thread.sleep(5);
        }
        all("early", args);
        Thread.sleep(1000);
        System.out.println("ready");
        System.in.read();
        all("late", args);
        Thread.sleep(120_000);
    }

    static void all(String when, String[] args) {
        start(when + "-reader", () -> read(args[0]));
        start(when + "-opener", () -> read(args[1]));
        start(when + "-waiter", Hangs::take);
    }

    static void read(String path) throws Exception {
        try (FileInputStream fifo = new FileInputStream(path)) {
            fifo.read();
        }
    }

    static void hold() throws Exception {
        synchronized (SHELF) {
            held = true;
            Thread.sleep(120_000);
        }
    }

    static void take() {
        synchronized (SHELF) {
            held = false;
        }
    }

    static void start(String name, Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }
}
