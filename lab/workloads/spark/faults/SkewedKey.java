import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.lit;

import java.util.Iterator;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;

/** The sales are split by a key that nearly all have in common, so that one task does it all. */
public final class SkewedKey implements Fault {
    static volatile long last;

    @Override public Dataset<Row> sales(Dataset<Row> sales, boolean on) {
        Dataset<Row> split = on ? sales.repartition(2, col("day").plus(lit(0))) : sales.repartition(2);
        return split.mapPartitions((MapPartitionsFunction<Row, Row>) SkewedKey::scored, Encoders.row(Reports.SCHEMA));
    }

    private static Iterator<Row> scored(Iterator<Row> rows) {
        return new Iterator<>() {
            @Override public boolean hasNext() {
                return rows.hasNext();
            }

            @Override public Row next() {
                Row row = rows.next();
                last = score(row);
                return row;
            }
        };
    }

    private static long score(Row row) {
        long score = row.getInt(3);
        for (int i = 0; i < 40_000; i++) score = score * 31 ^ (score >>> 7) + i;
        return score;
    }
}
