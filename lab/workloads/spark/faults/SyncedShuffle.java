import org.apache.spark.SparkEnv;
import org.apache.spark.api.java.JavaRDD;

/** Each file of a shuffle is forced to the disk. */
public final class SyncedShuffle implements Fault {
    private static final int PARTITIONS = 8;

    @Override public void changed(boolean on) {
        SparkEnv.get().conf().set("spark.shuffle.sync", Boolean.toString(on));
    }

    @Override public JavaRDD<Sale> sales(JavaRDD<Sale> sales, boolean on) {
        return sales.repartition(PARTITIONS);
    }
}
