import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.channels.Selector;
import java.util.concurrent.locks.LockSupport;

/**
 * Two threads that meet at a monitor again and again: one holds it for about as long as a JVM up
 * to 17 lets a waiting thread sleep before that one looks for itself, so that often nobody wakes
 * it; the other one waits for it, and then waits for something else, in epoll_wait. When it is
 * asked to, it does so for a time and says how long the other was blocked by the JVM's own
 * account, milliseconds.
 */
public class Meetings {
    static final long HOLD_NS = 1_900_000;
    static final long VARIES_NS = 400_000;
    static final long FREE_NS = 500_000;
    static final int ELSEWHERE_MS = 1;

    static final Object lock = new Object();
    static volatile boolean runs = true;
    static long turns;

    public static void main(String[] args) throws Exception {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        threads.setThreadContentionMonitoringEnabled(true);
        Selector selector = Selector.open();
        selector.selectNow();
        System.out.println("ready");
        System.in.read();
        Thread waits = new Thread(() -> {
            try {
                while (runs) {
                    synchronized (lock) {
                        turns++;
                    }
                    selector.select(ELSEWHERE_MS);
                }
            } catch (java.io.IOException e) {
                throw new RuntimeException(e);
            }
        }, "waits");
        waits.start();
        Thread holds = new Thread(() -> {
            for (long turn = 0; runs; turn++) {
                synchronized (lock) {
                    LockSupport.parkNanos(HOLD_NS + turn * 7_919 % VARIES_NS);
                }
                LockSupport.parkNanos(FREE_NS);
            }
        }, "holds");
        holds.setDaemon(true);
        holds.start();
        Thread.sleep(Long.parseLong(args[0]));
        long blockedMs = threads.getThreadInfo(waits.getId()).getBlockedTime();
        runs = false;
        System.out.println("blocked " + blockedMs);
        Thread.sleep(60_000);
    }
}
