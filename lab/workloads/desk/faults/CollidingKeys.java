import java.util.HashMap;
import java.util.Map;

/** Keys whose hash code is their length, in a map that has become large. */
public final class CollidingKeys implements Fault {
    private static final class Sku {
        private final String name;

        Sku(String name) {
            this.name = name;
        }

        @Override public int hashCode() { return name.length(); }
        @Override public boolean equals(Object other) { return other instanceof Sku sku && sku.name.equals(name); }
    }

    @Override public void answer(StringBuilder reply, int customer, boolean on) {
        reply.append(basket(on ? 500 : 10));
    }

    private int basket(int items) {
        Map<Sku, Integer> basket = new HashMap<>();
        for (int i = 0; i < items; i++) basket.merge(new Sku("sku-" + (100_000 + i)), 1, Integer::sum);
        return basket.size();
    }
}
