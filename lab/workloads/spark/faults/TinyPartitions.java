import org.apache.spark.api.java.JavaRDD;

/** The few sales of a day are split into a hundred partitions, each of which is a task. */
public final class TinyPartitions implements Fault {
    private static final int MANY = 100;

    @Override public JavaRDD<Sale> sales(JavaRDD<Sale> sales, boolean on) {
        return sales.repartition(on ? MANY : Reports.PARTITIONS);
    }
}
