/** A retry that sleeps. */
public final class Backoff implements Fault {
    public void duringOperation(int worker, boolean active) throws Exception {
        if (active) retryLater();
    }

    private void retryLater() throws Exception {
        Thread.sleep(15);
    }
}
