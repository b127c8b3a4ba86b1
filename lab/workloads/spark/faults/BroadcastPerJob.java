import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.udf;

import java.util.Random;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;

/** A table of prices is broadcast for each job instead of once. */
public final class BroadcastPerJob implements Fault {
    private static final int PRICES = 1_000_000;
    private final int[] prices = new Random(1).ints(PRICES).toArray();
    private JavaSparkContext context;
    private Broadcast<int[]> once;

    @Override public void prepare(Reports reports) {
        context = JavaSparkContext.fromSparkContext(reports.spark.sparkContext());
        once = publish();
    }

    private Broadcast<int[]> publish() {
        return context.broadcast(prices);
    }

    @Override public Dataset<Row> sales(Dataset<Row> sales, boolean on) {
        Broadcast<int[]> known = on ? publish() : once;
        UDF1<Integer, Boolean> priced = amount -> known.value()[amount] != 1;
        return sales.where(udf(priced, DataTypes.BooleanType).apply(col("amount")));
    }
}
