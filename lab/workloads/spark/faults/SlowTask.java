import java.util.Iterator;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;

/** One task of each job waits for something that the others do not need. */
public final class SlowTask implements Fault {
    @Override public JavaRDD<Sale> sales(JavaRDD<Sale> sales, boolean on) {
        return on ? sales.mapPartitions(SlowTask::late) : sales.mapPartitions(rows -> rows);
    }

    private static Iterator<Sale> late(Iterator<Sale> rows) throws Exception {
        if (TaskContext.getPartitionId() == 0) askForRates();
        return rows;
    }

    private static void askForRates() throws Exception {
        Thread.sleep(150);
    }
}
