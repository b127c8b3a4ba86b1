/** No fault: one lock more, that is held for a moment. */
public final class ShortLock implements Fault {
    private long count;

    @Override public void duringOperation(int worker, boolean active) {
        if (active) add();
    }

    private synchronized void add() {
        count++;
    }
}
