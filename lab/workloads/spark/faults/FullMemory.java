import java.util.ArrayList;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.storage.StorageLevel;

/** More is cached as objects than there is memory for, which leaves the heap nearly full. */
public final class FullMemory implements Fault {
    private JavaRDD<List<Integer>> baskets;

    @Override public void prepare(Reports reports) {
        List<Integer> parts = new ArrayList<>();
        for (int i = 0; i < 200; i++) parts.add(i);
        baskets = reports.spark.parallelize(parts, parts.size()).flatMap(part -> {
            List<List<Integer>> some = new ArrayList<>();
            for (int i = 0; i < 5_000; i++) some.add(basket(part * 5_000 + i));
            return some.iterator();
        });
    }

    private static List<Integer> basket(int first) {
        List<Integer> basket = new ArrayList<>();
        for (int i = 0; i < 20; i++) basket.add(first + i * 1000);
        return basket;
    }

    @Override public void changed(boolean on) {
        if (on) {
            Faults.daemon("basket-cache", () -> {
                baskets.persist(StorageLevel.MEMORY_ONLY());
                while (Switch.on()) baskets.count();
            });
        } else {
            baskets.unpersist();
        }
    }
}
