import java.util.concurrent.Semaphore;

/** A limit of 64 concurrent calls of a partner becomes one of 1. */
public final class Permits implements Fault {
    private final Semaphore permits = new Semaphore(64);

    public void changed(boolean active) throws Exception {
        if (active) permits.acquire(63); else permits.release(63);
    }

    public void duringOperation(int worker, boolean active) throws Exception {
        permits.acquire();
        try {
            Thread.sleep(1);
        } finally {
            permits.release();
        }
    }
}
