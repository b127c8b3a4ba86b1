import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * A hand-made hand-over, whose answer is set before it is known who waits for it: then nobody is
 * woken, and the thread waits until its time is over.
 */
public final class LostUnpark implements Fault {
    private static final long PATIENCE = TimeUnit.MILLISECONDS.toNanos(200);
    private final BlockingQueue<Handover> orders = new LinkedBlockingQueue<>();

    private static final class Handover {
        volatile Thread waiter;
        volatile boolean done;

        void finish() {
            done = true;
            Thread waiting = waiter;
            if (waiting != null) LockSupport.unpark(waiting);
        }

        void await(boolean careless) {
            if (careless) {
                if (done) return;
                // Here the answer comes, and finds nobody.
                Thread.yield();
                pause();
                waiter = Thread.currentThread();
                LockSupport.parkNanos(this, PATIENCE);
            } else {
                waiter = Thread.currentThread();
                while (!done) LockSupport.parkNanos(this, PATIENCE);
            }
        }

        private static void pause() {
            long until = System.nanoTime() + 100_000;
            while (System.nanoTime() < until) Thread.onSpinWait();
        }
    }

    @Override public void prepare(Desk desk) {
        Faults.daemon("quote-clerk", () -> {
            while (true) orders.take().finish();
        });
    }

    @Override public void answer(StringBuilder reply, int customer, boolean on) {
        Handover order = new Handover();
        orders.add(order);
        order.await(on);
        reply.append(order.done);
    }
}
