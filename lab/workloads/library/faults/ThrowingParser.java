import java.util.Map;
import java.util.Random;

/** Numbers that are none, reported by exceptions. */
public final class ThrowingParser implements Fault {
    @Override public void answer(Map<String, Object> reply, Random random, boolean on) {
        reply.put("sum", sum(on));
    }

    private int sum(boolean words) {
        int sum = 0;
        for (int i = 0; i < 2000; i++) {
            try {
                sum += Integer.parseInt(words ? "x" + i : "" + i);
            } catch (NumberFormatException none) {
                sum--;
            }
        }
        return sum;
    }
}
