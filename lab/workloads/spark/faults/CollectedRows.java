import java.util.List;
import java.util.Map;
import org.apache.spark.api.java.JavaRDD;

/** All sales are brought to the driver, which looks there for what a filter would have found. */
public final class CollectedRows implements Fault {
    private Reports reports;

    @Override public void prepare(Reports all) {
        reports = all;
    }

    @Override public void done(Map<Integer, Integer> report, boolean on) {
        if (!on) return;
        int found = 0;
        for (Sale sale : fetch(reports.sales)) if (sale.amount > 9_900) found++;
        if (found == 0) throw new IllegalStateException("nothing was found");
    }

    private static List<Sale> fetch(JavaRDD<Sale> sales) {
        return sales.collect();
    }
}
