/** Two workers lock two accounts in opposite order and never go on; the fault does not end. */
public final class Deadlock implements Fault {
    private final Object debit = new Object(), credit = new Object();
    private volatile boolean happened;

    public void duringOperation(int worker, boolean active) throws Exception {
        if (active && worker < 2) transfer(worker == 0 ? debit : credit, worker == 0 ? credit : debit);
        else synchronized (worker % 2 == 0 ? debit : credit) { }
    }

    private void transfer(Object from, Object to) throws Exception {
        synchronized (from) {
            Thread.sleep(50);
            synchronized (to) { happened = true; }
        }
    }
}
