import java.util.logging.FileHandler;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** Debug logging into a file that is flushed at each line, by all threads. */
public final class LockedLogger implements Fault {
    private final Logger logger = Logger.getLogger("orders");

    public void prepare(int workers) throws Exception {
        FileHandler handler = new FileHandler("service.log");
        handler.setFormatter(new SimpleFormatter());
        logger.setUseParentHandlers(false);
        logger.addHandler(handler);
    }

    public void duringOperation(int worker, boolean active) {
        for (int i = 0; i < (active ? 60 : 0); i++) logger.info("order of worker " + worker);
    }
}
