/**
 * No fault: the heap is collected once, and a report of a tenth of a second is made each second.
 */
public final class OccasionalGc implements Fault {
    static volatile double last;

    @Override public void changed(boolean on) {
        if (!on) return;
        System.gc();
        Faults.daemon("small-report", () -> {
            while (Switch.on()) {
                double sum = 0;
                for (int i = 0; i < 2_000_000; i++) sum += Math.sqrt(i);
                last = sum;
                Thread.sleep(900);
            }
        });
    }
}
