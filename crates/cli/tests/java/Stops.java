import java.io.File;

/**
 * Collections that must wait for a thread in a loop without polls (run with
 * -XX:-UseCountedLoopSafepoints -XX:LoopStripMiningIter=0), or plain ones. Arguments: "loop" or
 * "plain", seconds. Says how long the longest loop took.
 */
public class Stops {
    static volatile int sum;
    static volatile boolean looping;
    static volatile Object keep;

    public static void main(String[] args) throws Exception {
        boolean loops = args[0].equals("loop");
        for (int i = 0; i < 40; i++) {
            sum = count(2_000_000, i);
        }
        System.out.println("ready");
        while (!new File("go").exists()) {
            Thread.sleep(20);
        }
        long end = System.nanoTime() + Long.parseLong(args[1]) * 1_000_000_000L;
        Thread counter = new Thread(() -> {
            long longest = 0;
            while (loops && System.nanoTime() < end) {
                looping = true;
                long began = System.nanoTime();
                sum = count(1_500_000_000, sum);
                longest = Math.max(longest, System.nanoTime() - began);
                looping = false;
                nap(100);
            }
            System.out.println("longest " + longest);
        }, "counter");
        counter.start();
        while (System.nanoTime() < end) {
            if (!loops || looping) {
                nap(30);
                System.gc();
            }
            nap(50);
        }
        counter.join();
        System.out.println("done");
        Thread.sleep(120_000);
    }

    static int count(int times, int from) {
        int x = from;
        for (int i = 0; i < times; i++) {
            x = x * 31 + (x >>> 3) + i;
        }
        return x;
    }

    static void nap(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
