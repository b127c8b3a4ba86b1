import static org.apache.spark.sql.functions.col;
import static org.apache.spark.sql.functions.udf;

import java.util.regex.Pattern;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.expressions.UserDefinedFunction;
import org.apache.spark.sql.types.DataTypes;

/** A function of the user checks remarks by a pattern that goes back and forth over them. */
public final class BacktrackingUdf implements Fault {
    private static final Pattern GOOD = Pattern.compile("sold at .*"), BAD = Pattern.compile("(.*\\w){3}:.*");
    private static final UserDefinedFunction GOOD_CHECK = udf((UDF1<String, Boolean>) BacktrackingUdf::good, DataTypes.BooleanType);
    private static final UserDefinedFunction BAD_CHECK = udf((UDF1<String, Boolean>) BacktrackingUdf::bad, DataTypes.BooleanType);

    static boolean good(String remark) {
        return GOOD.matcher(remark).matches();
    }

    static boolean bad(String remark) {
        return !BAD.matcher(remark).matches();
    }

    @Override public Dataset<Row> sales(Dataset<Row> sales, boolean on) {
        return sales.where((on ? BAD_CHECK : GOOD_CHECK).apply(col("remark")));
    }
}
