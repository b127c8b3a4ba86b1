import java.net.InetAddress;

/**
 * Each order looks up the server of the day's rates by its name, as a client does that connects
 * anew. Argument: table of the throughput.
 */
public final class Rates {
    static volatile long last;

    public static void main(String[] args) throws Exception {
        Workers.start("orders", 4, args[0], Rates::order);
        Switch.follow(on -> { });
    }

    static void order(int worker) throws Exception {
        last = Workers.compute(last, 200_000) + InetAddress.getByName("rates.shop.example").hashCode();
    }
}
