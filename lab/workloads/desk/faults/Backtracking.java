import java.util.regex.Pattern;

/** A pattern that goes back and forth over remarks that it nearly fits. */
public final class Backtracking implements Fault {
    private static final Pattern REMARK = Pattern.compile("(.*\\w){5}:");

    @Override public void answer(StringBuilder reply, int customer, boolean on) {
        reply.append(check(on ? "customers remark here, of this order" : "customer:"));
    }

    private boolean check(String remark) {
        return REMARK.matcher(remark).matches();
    }
}
