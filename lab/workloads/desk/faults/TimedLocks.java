import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Two accounts are locked in one order, then in both: whoever gets no second lock waits,
 * lets go and tries again.
 */
public final class TimedLocks implements Fault {
    private final ReentrantLock[] accounts = {new ReentrantLock(), new ReentrantLock()};

    @Override public void answer(StringBuilder reply, int customer, boolean on) throws Exception {
        int first = on ? customer % 2 : 0;
        for (int tries = 0; tries < 5; tries++) if (transfer(accounts[first], accounts[1 - first], on)) return;
    }

    private boolean transfer(ReentrantLock from, ReentrantLock to, boolean on) throws Exception {
        if (!from.tryLock(30, TimeUnit.MILLISECONDS)) return false;
        try {
            if (on) Thread.sleep(1);
            if (!to.tryLock(30, TimeUnit.MILLISECONDS)) return false;
            to.unlock();
            return true;
        } finally {
            from.unlock();
        }
    }
}
