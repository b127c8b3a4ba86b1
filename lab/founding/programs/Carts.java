/**
 * Carts of customers stay in memory, and requests make garbage. Arguments: table of the
 * throughput; megabytes of carts.
 */
public final class Carts {
    static byte[][] carts;
    static volatile Object last;

    public static void main(String[] args) throws Exception {
        carts = new byte[Integer.parseInt(args[1]) * 256][];
        for (int i = 0; i < carts.length; i++) {
            carts[i] = new byte[4_000];
        }
        Workers.start("requests", 4, args[0], worker -> {
            for (int i = 0; i < 40; i++) {
                last = new byte[5_000];
                carts[(int) (Workers.compute(System.nanoTime(), 500) >>> 33) % carts.length] = new byte[4_000];
            }
        });
        Switch.follow(on -> { });
    }
}
