import jdk.jfr.Event;
import jdk.jfr.Name;
import jdk.jfr.StackTrace;

/**
 * A server whose every 100th request is slow by construction: it takes a lock that another thread
 * holds asleep. All others sleep for 2 ms, the slow ones too.
 */
public class Requests {
    @Name("shop.Request")
    @StackTrace(false)
    static final class Request extends Event {}

    static final class Stock {}

    static final int REQUESTS = 600;
    static final int EVERY = 100;
    static final long HOLD_MS = 120;

    static final Stock STOCK = new Stock();
    static final java.util.concurrent.SynchronousQueue<Boolean> HOLD = new java.util.concurrent.SynchronousQueue<>();
    static final java.util.concurrent.SynchronousQueue<Boolean> HELD = new java.util.concurrent.SynchronousQueue<>();

    public static void main(String[] args) throws Exception {
        Thread sleeper = new Thread(Requests::hold, "sleeper");
        sleeper.setDaemon(true);
        sleeper.start();
        Thread worker = new Thread(Requests::serveAll, "worker");
        worker.start();
        worker.join();
    }

    static void hold() {
        try {
            while (true) {
                HOLD.take();
                synchronized (STOCK) {
                    HELD.put(true);
                    Thread.sleep(HOLD_MS);
                }
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void serveAll() {
        try {
            for (int i = 1; i <= REQUESTS; i++) {
                boolean slow = i % EVERY == 0;
                if (slow) {
                    HOLD.put(true);
                    HELD.take();
                }
                Request request = new Request();
                request.begin();
                serve(slow);
                request.commit();
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void serve(boolean slow) throws InterruptedException {
        Thread.sleep(2);
        if (slow) {
            take();
        }
    }

    static void take() {
        synchronized (STOCK) {
            taken++;
        }
    }

    static int taken;
}
