import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.Statement;

/** A batch keeps a row locked for 120 ms at a time, which each request changes. */
public final class RowLock implements Fault {
    private Desk desk;

    @Override public void prepare(Desk desk) {
        this.desk = desk;
    }

    @Override public void changed(boolean on) {
        if (on) Faults.daemon("nightly-batch", () -> {
            while (Switch.on()) {
                hold();
                Thread.sleep(5);
            }
        });
    }

    private void hold() throws Exception {
        try (Connection connection = desk.pool.getConnection(); Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.executeUpdate("update counter set n = n + 1 where id = 1");
            Thread.sleep(120);
            connection.commit();
            connection.setAutoCommit(true);
        }
    }

    @Override public void answer(StringBuilder reply, int customer, boolean on) throws Exception {
        try (Connection connection = desk.pool.getConnection();
                PreparedStatement count = connection.prepareStatement("update counter set n = n + 1 where id = ?")) {
            count.setInt(1, 1);
            count.executeUpdate();
        }
    }
}
