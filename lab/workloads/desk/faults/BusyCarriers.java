import java.util.concurrent.ExecutorService;

/** Virtual threads that compute for long and so keep the carriers from all others. */
public final class BusyCarriers implements Fault {
    static volatile long last;

    @Override public void changed(boolean on) throws Exception {
        if (!on) return;
        ExecutorService virtual = Desk.threads();
        for (int i = 0; i < 4; i++) virtual.execute(this::report);
    }

    private void report() {
        long sum = 1;
        while (Switch.on()) for (int i = 0; i < 5000; i++) sum = sum * 31 + i;
        last = sum;
    }
}
