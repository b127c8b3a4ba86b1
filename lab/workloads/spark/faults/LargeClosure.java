import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.udf;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;

/** A function of the user brings a map along, which is serialised for each task. */
public final class LargeClosure implements Fault {
    private static final int CUSTOMERS = 40_000;
    private final HashMap<Integer, String> names = new HashMap<>();
    private final HashMap<Integer, String> few = new HashMap<>();

    @Override public void prepare(Reports reports) {
        for (int i = 0; i < CUSTOMERS; i++) names.put(i, "customer number " + i);
        few.put(0, "customer number 0");
    }

    @Override public Dataset<Row> sales(Dataset<Row> sales, boolean on) {
        return named(sales, on ? names : few);
    }

    private static Dataset<Row> named(Dataset<Row> sales, Map<Integer, String> names) {
        UDF1<Integer, Boolean> known = amount -> names.getOrDefault(amount, "").length() < 100;
        return sales.where(udf(known, DataTypes.BooleanType).apply(col("amount")));
    }
}
