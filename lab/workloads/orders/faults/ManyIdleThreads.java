/** No fault: two hundred threads more that sleep. */
public final class ManyIdleThreads implements Fault {
    @Override public void changed(boolean active) {
        for (int i = 0; active && i < 200; i++) {
            Faults.daemon("session-" + i, () -> {
                while (Service.active) Thread.sleep(500);
            });
        }
    }
}
