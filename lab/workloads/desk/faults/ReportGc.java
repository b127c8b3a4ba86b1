/** A report that cleans up behind itself. */
public final class ReportGc implements Fault {
    @Override public void changed(boolean on) {
        if (on) Faults.daemon("report", () -> {
            while (Switch.on()) {
                cleanUp();
                Thread.sleep(15);
            }
        });
    }

    private void cleanUp() {
        System.gc();
    }
}
