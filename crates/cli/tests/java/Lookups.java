import java.net.InetAddress;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Looks up names that are not there all the time, each once, from four threads, until it is asked
 * to stop; then says the longest in ms.
 */
public class Lookups {
    static final AtomicLong LONGEST = new AtomicLong();

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 4; i++) {
            String prefix = "a" + i + "-";
            Thread thread = new Thread(() -> ask(prefix), "asks-" + i);
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("ready");
        System.in.read();
        System.out.println("longest " + LONGEST.get() / 1_000_000);
        System.out.println("done");
        System.in.read();
    }

    static void ask(String prefix) {
        for (long i = 0; ; i++) {
            long before = System.nanoTime();
            try {
                InetAddress.getByName(prefix + i + ".not.there");
            } catch (java.net.UnknownHostException e) {
                // As is meant: a name that is there would be kept.
            }
            LONGEST.accumulateAndGet(System.nanoTime() - before, Math::max);
        }
    }
}
