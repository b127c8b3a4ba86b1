import java.util.ArrayList;
import java.util.List;

/** Allocates, asks for a collection now and then, and ends with status 7 after so many seconds. */
public class Collects {
    static volatile Object sink;

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000_000L;
        System.out.println("ready");
        List<byte[]> kept = new ArrayList<>();
        for (long n = 0; System.nanoTime() < end; n++) {
            byte[] bytes = new byte[(int) (n * 31 % 4096)];
            if (n % 100 == 0) {
                kept.add(bytes);
            }
            if (kept.size() > 4000) {
                kept.clear();
            }
            if (n % 400 == 0) {
                Thread.sleep(1);
            }
            if (n % 200_000 == 0) {
                System.gc();
                Thread helper = new Thread(() -> sink = bytes, "a-short-lived-thread");
                helper.start();
                helper.join();
            }
            sink = bytes;
        }
        System.exit(7);
    }
}
