import java.util.Map;
import java.util.Random;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Each request writes its whole answer into the log many times; the log is flushed at each line.
 */
public final class ChattyLog implements Fault {
    private static final Logger LOG = LogManager.getLogger(ChattyLog.class);

    @Override public void answer(Map<String, Object> reply, Random random, boolean on) {
        trace(reply, on ? 240 : 0);
    }

    private void trace(Map<String, Object> reply, int lines) {
        for (int i = 0; i < lines; i++) LOG.info("result {} of {}", i, reply);
    }
}
