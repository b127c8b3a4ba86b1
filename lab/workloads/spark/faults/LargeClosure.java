import java.util.HashMap;
import org.apache.spark.api.java.JavaRDD;

/** A function brings a map along, which is serialised for each job and read by each task. */
public final class LargeClosure implements Fault {
    private static final int CUSTOMERS = 60_000;
    private final HashMap<Integer, String> names = new HashMap<>();
    private final HashMap<Integer, String> few = new HashMap<>();

    @Override public void prepare(Reports reports) {
        for (int i = 0; i < CUSTOMERS; i++) names.put(i, "customer number " + i);
        few.put(0, "customer number 0");
    }

    @Override public JavaRDD<Sale> sales(JavaRDD<Sale> sales, boolean on) {
        return named(sales, on ? names : few);
    }

    private static JavaRDD<Sale> named(JavaRDD<Sale> sales, HashMap<Integer, String> names) {
        return sales.filter(sale -> names.getOrDefault(sale.amount, "").length() < 100);
    }
}
