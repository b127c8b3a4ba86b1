import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import scala.Tuple2;

/** The sales are split by a key that all have in common, so that one task scores them all. */
public final class SkewedKey implements Fault {
    @Override public JavaRDD<Sale> sales(JavaRDD<Sale> sales, boolean on) {
        JavaPairRDD<Integer, Sale> keyed = on ? sales.mapToPair(sale -> new Tuple2<>(sale.day, sale))
            : sales.mapToPair(sale -> new Tuple2<>(sale.amount, sale));
        return keyed.groupByKey(Reports.PARTITIONS).flatMap(group -> group._2.iterator()).filter(sale -> score(sale) != 0);
    }

    private static long score(Sale sale) {
        long score = sale.amount;
        for (int i = 0; i < 8_000; i++) score = score * 31 ^ (score >>> 7) + i;
        return score;
    }
}
