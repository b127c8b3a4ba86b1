/**
 * Orders are priced. When the promotion begins, each also goes through five hundred rules that
 * nobody has called before. Arguments: table of the throughput; {@code warm} to run the rules
 * before the first order.
 */
public final class Promotion {
    private static final int WARM_ROUNDS = 4_000;
    static volatile long last;

    public static void main(String[] args) throws Exception {
        if (args[1].equals("warm")) {
            for (int i = 0; i < WARM_ROUNDS; i++) {
                last = Burst.all(i);
            }
        }
        Workers.start("orders", 4, args[0], Promotion::price);
        Switch.follow(on -> { });
    }

    static void price(int worker) {
        last = Workers.compute(worker, 60_000);
        if (Switch.on()) {
            last = Burst.all(last);
        }
    }
}
