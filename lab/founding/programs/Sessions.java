/**
 * Requests make garbage, as most do, and some of it lives for a while. Argument:
 * table of the throughput.
 */
public final class Sessions {
    private static final int KEPT = 6_000;
    static final byte[][] RECENT = new byte[KEPT][];

    public static void main(String[] args) throws Exception {
        Workers.start("requests", 4, args[0], Sessions::serve);
        Switch.follow(on -> { });
    }

    static void serve(int worker) {
        for (int i = 0; i < 20; i++) {
            byte[] session = new byte[4_000];
            RECENT[(int) (Workers.compute(System.nanoTime(), 1_000) >>> 33) % KEPT] = session;
        }
    }
}
