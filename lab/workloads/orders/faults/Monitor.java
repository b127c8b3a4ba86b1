/** A monitor that is held while the holder sleeps. */
public final class Monitor implements Fault {
    private final Object ledger = new Object();
    private long booked;

    public void duringOperation(int worker, boolean active) throws Exception {
        book(active);
    }

    private void book(boolean active) throws Exception {
        synchronized (ledger) {
            booked++;
            if (active) waitForAuditor();
        }
    }

    private void waitForAuditor() throws Exception {
        Thread.sleep(3);
    }
}
