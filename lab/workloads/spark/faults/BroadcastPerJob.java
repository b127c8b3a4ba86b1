import java.util.Random;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.broadcast.Broadcast;

/** A table of prices is broadcast for each job instead of once. */
public final class BroadcastPerJob implements Fault {
    private static final int PRICES = 4_000_000;
    private final int[] prices = new Random(1).ints(PRICES).toArray();
    private Reports reports;
    private Broadcast<int[]> once;

    @Override public void prepare(Reports all) {
        reports = all;
        once = publish();
    }

    private Broadcast<int[]> publish() {
        return reports.spark.broadcast(prices);
    }

    @Override public JavaRDD<Sale> sales(JavaRDD<Sale> sales, boolean on) {
        return priced(sales, on ? publish() : once);
    }

    private static JavaRDD<Sale> priced(JavaRDD<Sale> sales, Broadcast<int[]> prices) {
        return sales.filter(sale -> prices.value()[sale.amount] != 1);
    }
}
