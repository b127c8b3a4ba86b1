import java.util.concurrent.locks.LockSupport;

/** An agent that takes the stacks of all threads again and again, and there are many. */
public final class ThreadDumps implements Fault {
    public void prepare(int workers) {
        for (int i = 0; i < 400; i++) Faults.daemon("session-" + i, () -> deep(60));
        Faults.daemon("monitoring-agent", () -> {
            while (true) {
                Thread.sleep(2);
                if (Service.active) Thread.getAllStackTraces();
            }
        });
    }

    private static void deep(int depth) {
        if (depth > 0) deep(depth - 1);
        while (depth == 0) LockSupport.park();
    }
}
