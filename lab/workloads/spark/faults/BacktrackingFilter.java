import java.util.regex.Pattern;
import org.apache.spark.api.java.JavaRDD;

/** Remarks are checked by a pattern that goes back and forth over them. */
public final class BacktrackingFilter implements Fault {
    private static final Pattern GOOD = Pattern.compile("sold at .*"), BAD = Pattern.compile("(.*\\w){2}:.*");

    @Override public JavaRDD<Sale> sales(JavaRDD<Sale> sales, boolean on) {
        return on ? sales.filter(sale -> bad(sale.remark)) : sales.filter(sale -> good(sale.remark));
    }

    private static boolean good(String remark) {
        return GOOD.matcher(remark).matches();
    }

    private static boolean bad(String remark) {
        return !BAD.matcher(remark).matches();
    }
}
