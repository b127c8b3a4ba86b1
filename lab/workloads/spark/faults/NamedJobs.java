import org.apache.spark.api.java.JavaRDD;

/** No fault: each job is given a group and a description, of which listeners hear. */
public final class NamedJobs implements Fault {
    private Reports reports;

    @Override public void prepare(Reports all) {
        reports = all;
    }

    @Override public JavaRDD<Sale> sales(JavaRDD<Sale> sales, boolean on) {
        if (on) reports.spark.setJobGroup("daily", "the report of a day");
        return sales;
    }
}
