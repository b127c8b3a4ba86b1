import java.util.HashMap;
import java.util.Map;

/** A loop without calls and checks, inlined before other code that is inlined. */
class Loops {
    private static final Map<String, Integer> PRICES = new HashMap<>();

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < 20_000; i++) {
            quote("item" + i % 16, 500);
        }
        System.out.println("ready");
        Thread.sleep(600_000);
    }

    private static int quote(String item, int parts) {
        double price = price(parts);
        PRICES.put(item, (int) price);
        return item.hashCode();
    }

    /** The only square roots here. */
    private static double price(int parts) {
        double sum = 0;
        for (int i = 1; i < parts; i++) {
            sum += Math.sqrt(i) / (i + 1);
        }
        return sum;
    }
}
