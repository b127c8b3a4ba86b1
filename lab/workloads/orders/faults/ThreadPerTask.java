/** Twenty threads for each operation. */
public final class ThreadPerTask implements Fault {
    public void duringOperation(int worker, boolean active) throws Exception {
        if (!active) return;
        Thread[] threads = new Thread[20];
        for (int i = 0; i < threads.length; i++) (threads[i] = new Thread(() -> { }, "task")).start();
        for (Thread thread : threads) thread.join();
    }
}
