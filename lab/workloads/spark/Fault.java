import java.util.Map;
import org.apache.spark.api.java.JavaRDD;

/** What may go wrong in the reports. */
interface Fault {
    /** Before the first job. */
    default void prepare(Reports reports) throws Exception {}

    /** Once when the fault begins, and once when it ends. */
    default void changed(boolean on) throws Exception {}

    /** The sales that a job reads, whether the fault is on or not. */
    default JavaRDD<Sale> sales(JavaRDD<Sale> sales, boolean on) throws Exception {
        return sales;
    }

    /** After each job, with its result. */
    default void done(Map<Integer, Integer> report, boolean on) throws Exception {}
}
