import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Starts threads one after the other from a method of its own when it is asked to, and says of
 * each how long start() took and how long it was until the thread ran, by its own clock, and how
 * long it had waited for a CPU by then, as the kernel counts. Arguments: how many; how many
 * threads burn meanwhile.
 */
public class Starts {
    static volatile boolean burns = true;

    static class Started extends Thread {
        long ranNanos;
        String waited;

        Started(String name) {
            super(name);
        }

        @Override
        public void run() {
            ranNanos = System.nanoTime();
            try {
                // Time on a CPU, time waiting for one, times that it ran.
                waited = Files.readString(Path.of("/proc/thread-self/schedstat")).split(" ")[1];
            } catch (IOException e) {
                waited = "unknown";
            }
        }
    }

    static class Burner extends Thread {
        @Override
        public void run() {
            while (burns) {
                Thread.onSpinWait();
            }
        }
    }

    public static void main(String[] args) throws Exception {
        int count = Integer.parseInt(args[0]);
        // What is new to the JVM would be in the first measures.
        long[] warm = new long[2];
        for (int i = 0; i < 50; i++) {
            startOne(new Started("warm-" + i), warm);
        }
        for (int i = 0; i < Integer.parseInt(args[1]); i++) {
            Burner burner = new Burner();
            burner.setDaemon(true);
            burner.start();
        }
        System.out.println("ready");
        System.in.read();
        Started[] started = new Started[count];
        long[][] took = new long[count][2];
        for (int i = 0; i < count; i++) {
            started[i] = new Started("started-" + i);
            startOne(started[i], took[i]);
        }
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < count; i++) {
            out.append(started[i].getName()).append(' ').append(took[i][0]).append(' ').append(took[i][1]);
            out.append(' ').append(started[i].waited).append('\n');
        }
        System.out.print(out);
        System.out.println("done");
        System.out.flush();
        System.in.read();
        burns = false;
    }

    /** Nanoseconds in start(), and from before it until run() began. */
    static void startOne(Started thread, long[] took) throws InterruptedException {
        long before = System.nanoTime();
        thread.start();
        long after = System.nanoTime();
        thread.join();
        took[0] = after - before;
        took[1] = thread.ranNanos - before;
    }
}
