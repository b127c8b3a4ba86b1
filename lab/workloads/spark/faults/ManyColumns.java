import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;

import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/** Columns are added one by one, and each makes a plan of its own, which is analysed from its root. */
public final class ManyColumns implements Fault {
    private static final int COLUMNS = 40;

    @Override public Dataset<Row> sales(Dataset<Row> sales, boolean on) {
        Dataset<Row> wide = sales;
        for (int i = 0; i < (on ? COLUMNS : 1); i++) wide = wide.withColumn("share" + i, col("amount").plus(lit(i)));
        return wide;
    }
}
