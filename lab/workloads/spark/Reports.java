import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * Small reports of the sales of a day, each a job of Spark in local mode, asked for by some
 * threads: {@code Reports THREADS CSV FAULT}.
 */
public final class Reports {
    static final int SALES = 80_000, DAYS = 20, PARTITIONS = 2, THINK_MS = 30, WARM_JOBS = 250;
    private static final Meter METER = new Meter();
    private final List<Fault> faults;
    final JavaSparkContext spark;
    final JavaRDD<Sale> sales;

    private Reports(List<Fault> faults) throws Exception {
        this.faults = faults;
        Path index = Files.createDirectories(Path.of(System.getProperty("java.io.tmpdir"), "index"));
        spark = new JavaSparkContext(new SparkConf().setMaster("local[2]").setAppName("reports").set("spark.ui.enabled", "false")
            .set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1").set("spark.local.dir", index.toString())
            // A task is broadcast in a block; one of 4 MB would be a humongous object.
            .set("spark.broadcast.blockSize", "256k"));
        // What `parallelize` is given goes along with each task, so the tasks make the lines.
        JavaRDD<String> lines = spark.parallelize(List.of(0, 1), PARTITIONS).flatMap(part -> lines(part).iterator()).cache();
        lines.count();
        sales = lines.map(Sale::parse).cache();
        sales.count();
        for (Fault fault : faults) fault.prepare(this);
    }

    private static List<String> lines(int part) {
        Random random = new Random(part);
        List<String> lines = new ArrayList<>();
        for (int i = 0; i < SALES / PARTITIONS; i++) {
            lines.add(random.nextInt(DAYS) + "," + random.nextInt(200) + "," + random.nextInt(10_000) + ",sold at the counter of shop " + i % 97);
        }
        return lines;
    }

    private void report() throws Exception {
        boolean on = Switch.on();
        JavaRDD<Sale> asked = of(sales, ThreadLocalRandom.current().nextInt(DAYS));
        for (Fault fault : faults) asked = fault.sales(asked, on);
        Map<Integer, Integer> report = total(asked);
        for (Fault fault : faults) fault.done(report, on);
        METER.count();
    }

    private static JavaRDD<Sale> of(JavaRDD<Sale> sales, int day) {
        return sales.filter(sale -> sale.day == day);
    }

    private static Map<Integer, Integer> total(JavaRDD<Sale> sales) {
        return sales.mapToPair(sale -> new Tuple2<>(sale.product, sale.amount)).reduceByKey(Integer::sum, PARTITIONS).collectAsMap();
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
        while (!Boolean.getBoolean("lab.cold") && METER.all() < WARM_JOBS) Thread.sleep(50);
        Switch.follow(on -> {
            for (Fault fault : faults) fault.changed(on);
        });
    }
}
