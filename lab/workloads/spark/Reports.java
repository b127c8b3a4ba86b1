import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.sum;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.StructType;

/**
 * Small reports of the sales of a day, each a job of Spark in local mode, asked for by some
 * threads: {@code Reports THREADS CSV FAULT}.
 */
public final class Reports {
    static final int SALES = 20_000, DAYS = 20, THINK_MS = 40;
    static final StructType SCHEMA = StructType.fromDDL("day int, shop int, product int, amount int, remark string");
    private static final Meter METER = new Meter();
    private final List<Fault> faults;
    final SparkSession spark;
    final Dataset<String> lines;
    final Dataset<Row> sales;

    private Reports(List<Fault> faults) throws Exception {
        this.faults = faults;
        Path index = Files.createDirectories(Path.of(System.getProperty("java.io.tmpdir"), "index"));
        spark = SparkSession.builder().master("local[2]").appName("reports")
            .config("spark.ui.enabled", false).config("spark.local.dir", index.toString()).config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1").config("spark.sql.warehouse.dir", index.resolve("warehouse").toString())
            .config("spark.sql.shuffle.partitions", 2).config("spark.scheduler.mode", "FAIR").getOrCreate();
        lines = spark.createDataset(lines(), Encoders.STRING()).repartition(2).cache();
        lines.count();
        sales = read().cache();
        sales.count();
        for (Fault fault : faults) fault.prepare(this);
    }

    private static List<String> lines() {
        Random random = new Random(3);
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < SALES; i++) {
            lines.add(random.nextInt(DAYS) + "," + (int) (Math.pow(random.nextDouble(), 3) * 50) + "," + random.nextInt(200) + ","
                + random.nextInt(10_000) + ",sold at the counter of shop " + i % 97);
        }
        return lines;
    }

    /** The sales as they are read from their lines. */
    Dataset<Row> read() {
        return spark.read().schema(SCHEMA).csv(lines);
    }

    private void report() throws Exception {
        boolean on = Switch.on();
        Dataset<Row> asked = sales.where(col("day").equalTo(ThreadLocalRandom.current().nextInt(DAYS)));
        for (Fault fault : faults) asked = fault.sales(asked, on);
        List<Row> report = asked.groupBy("product").agg(sum("amount")).collectAsList();
        for (Fault fault : faults) fault.done(report, on);
        METER.count();
    }

    private void ask(int number, String fault) {
        try {
            int think = fault.equals("Idle") ? 100 * THINK_MS : THINK_MS;
            while (true) {
                report();
                do Thread.sleep(think); while (fault.equals("FewerClients") && number > 0 && Switch.on());
            }
        } catch (Throwable failure) {
            failure.printStackTrace();
        }
    }

    public static void main(String[] args) throws Exception {
        List<Fault> faults = Faults.named(args[2], Fault.class);
        Reports reports = new Reports(faults);
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            int number = i;
            new Thread(() -> reports.ask(number, args[2]), "reporter-" + i).start();
        }
        METER.write(args[1]);
        Switch.follow(on -> {
            for (Fault fault : faults) fault.changed(on);
        });
    }
}
