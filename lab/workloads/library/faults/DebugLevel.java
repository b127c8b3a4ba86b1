import java.util.Map;
import java.util.Random;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;
import org.apache.logging.log4j.core.config.Configurator;

/** No fault: the log's level is lowered, which makes one short line a request. */
public final class DebugLevel implements Fault {
    private static final Logger LOG = LogManager.getLogger(DebugLevel.class);

    @Override public void changed(boolean on) {
        Configurator.setRootLevel(on ? Level.DEBUG : Level.INFO);
    }

    @Override public void answer(Map<String, Object> reply, Random random, boolean on) {
        LOG.debug("{} answers", reply.size());
    }
}
