import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** A cache of reports is switched off, and each is computed from all tickets. */
public final class UncachedReport implements Fault {
    private final Map<Integer, Long> cache = new ConcurrentHashMap<>();
    private Desk desk;

    @Override public void prepare(Desk desk) {
        this.desk = desk;
    }

    @Override public void answer(StringBuilder reply, int customer, boolean on) throws Exception {
        Long known = on ? null : cache.get(customer % 7);
        if (known == null) cache.put(customer % 7, known = report(customer % 7));
        for (int state = 0; on && state < 12; state++) known += report(state % 7);
        reply.append(known);
    }

    private long report(int state) throws Exception {
        try (Connection connection = desk.pool.getConnection(); Statement statement = connection.createStatement();
                ResultSet result = statement.executeQuery("select sum(length(text)) from ticket where state = " + state)) {
            result.next();
            return result.getLong(1);
        }
    }
}
