/** Somebody cleans up. */
public final class SystemGc implements Fault {
    private final byte[][] live = new byte[400_000][];

    public void prepare(int workers) {
        for (int i = 0; i < live.length; i++) live[i] = new byte[100];
        Faults.daemon("cache-cleaner", () -> {
            while (true) {
                Thread.sleep(100);
                if (Service.active) System.gc();
            }
        });
    }
}
