import java.util.Map;
import java.util.Random;

/** A text put together by adding to a string, line by line. */
public final class ConcatenatedCsv implements Fault {
    @Override public void answer(Map<String, Object> reply, Random random, boolean on) {
        reply.put("csv", csv(on ? 1500 : 20).length());
    }

    private String csv(int lines) {
        String text = "";
        for (int i = 0; i < lines; i++) text += "line " + i + ";ordered\n";
        return text;
    }
}
