import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;

/**
 * Rates are read anew each tenth of a second by whoever comes first, under a
 * lock for which all wait.
 */
public final class Stampede implements Fault {
    private Desk desk;
    private long readAt = System.nanoTime();
    private int rates;

    @Override public void prepare(Desk desk) {
        this.desk = desk;
    }

    @Override public void answer(StringBuilder reply, int customer, boolean on) throws Exception {
        reply.append(rates(on ? 5_000_000L : Long.MAX_VALUE));
    }

    private synchronized int rates(long validNs) throws Exception {
        if (System.nanoTime() - readAt > validNs) {
            rates = load();
            readAt = System.nanoTime();
        }
        return rates;
    }

    private int load() throws Exception {
        int sum = 0;
        try (Connection connection = desk.pool.getConnection(); Statement statement = connection.createStatement();
                ResultSet texts = statement.executeQuery("select text from ticket")) {
            while (texts.next()) sum += texts.getString(1).hashCode();
        }
        return sum;
    }
}
