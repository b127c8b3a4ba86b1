import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/** The few sales of a day are split into hundreds of partitions, each of which is a task. */
public final class TinyPartitions implements Fault {
    private static final int MANY = 150;

    @Override public Dataset<Row> sales(Dataset<Row> sales, boolean on) {
        return sales.repartition(on ? MANY : 2);
    }
}
