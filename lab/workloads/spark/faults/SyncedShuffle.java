import org.apache.spark.SparkEnv;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;

/** Spark is told to force each file of a shuffle to the disk. */
public final class SyncedShuffle implements Fault {
    private static final int PARTITIONS = 12;

    @Override public void changed(boolean on) {
        SparkEnv.get().conf().set("spark.shuffle.sync", Boolean.toString(on));
    }

    @Override public Dataset<Row> sales(Dataset<Row> sales, boolean on) {
        return sales.repartition(PARTITIONS);
    }
}
