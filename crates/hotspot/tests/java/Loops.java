import java.util.HashMap;
import java.util.Map;

/** Loops without calls and checks: one before other inlined code, one that ends its method. */
class Loops {
    private static double last;
    private static final Map<String, Integer> PRICES = new HashMap<>();

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < 20_000; i++) {
            quote("item" + i % 16, 500);
        }
        for (int i = 0; i < 40; i++) {
            last += rate("EURUSD");
        }
        System.out.println("ready");
        Thread.sleep(600_000);
    }

    private static int quote(String item, int parts) {
        double price = price(parts);
        PRICES.put(item, (int) price);
        return item.hashCode();
    }

    private static double price(int parts) {
        double sum = 0;
        for (int i = 1; i < parts; i++) {
            sum += Math.sqrt(i) / (i + 1);
        }
        return sum;
    }

    private static double rate(String pair) {
        double rate = pair.hashCode();
        for (int i = 0; i < 600_000; i++) {
            rate = Math.sqrt(rate * rate + i);
        }
        return rate;
    }
}
