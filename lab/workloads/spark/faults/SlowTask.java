import java.util.Iterator;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;

/** One task of each job waits for something that the others do not need. */
public final class SlowTask implements Fault {
    @Override public Dataset<Row> sales(Dataset<Row> sales, boolean on) {
        MapPartitionsFunction<Row, Row> step = on ? SlowTask::late : SlowTask::same;
        return sales.mapPartitions(step, Encoders.row(Reports.SCHEMA));
    }

    private static Iterator<Row> same(Iterator<Row> rows) {
        return rows;
    }

    private static Iterator<Row> late(Iterator<Row> rows) throws Exception {
        if (TaskContext.getPartitionId() == 0) askForRates();
        return rows;
    }

    private static void askForRates() throws Exception {
        Thread.sleep(150);
    }
}
