import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Many lines of audit for each request, all through the lock of one appender. */
public final class AuditLog implements Fault {
    private static final Logger LOG = LoggerFactory.getLogger(AuditLog.class);

    @Override public void answer(StringBuilder reply, int customer, boolean on) {
        audit(reply, customer, on ? 400 : 0);
    }

    private void audit(StringBuilder reply, int customer, int lines) {
        for (int i = 0; i < lines; i++) LOG.info("customer {} sees {}, line {}", customer, reply, i);
    }
}
