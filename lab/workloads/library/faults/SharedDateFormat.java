import java.text.SimpleDateFormat;
import java.util.Date;
import java.util.Locale;
import java.util.Map;
import java.util.Random;

/** Many dates are written by one date format that all requests share under its monitor. */
public final class SharedDateFormat implements Fault {
    private static final SimpleDateFormat STAMP = new SimpleDateFormat("yyyy-MM-dd'T'HH:mm:ss.SSSZ", Locale.US);

    @Override public void answer(Map<String, Object> reply, Random random, boolean on) {
        synchronized (STAMP) {
            reply.put("at", stamp(random, on ? 4000 : 1));
        }
    }

    private String stamp(Random random, int times) {
        String last = "";
        for (int i = 0; i < times; i++) last = STAMP.format(new Date(random.nextLong() >>> 20));
        return last;
    }
}
