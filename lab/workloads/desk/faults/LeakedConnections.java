import java.sql.Connection;
import java.util.ArrayList;
import java.util.List;

/** All connections of the pool but one are taken and not given back. */
public final class LeakedConnections implements Fault {
    private final List<Connection> leaked = new ArrayList<>();
    private Desk desk;

    @Override public void prepare(Desk desk) {
        this.desk = desk;
    }

    @Override public void changed(boolean on) throws Exception {
        for (int i = 1; on && i < Desk.CONNECTIONS; i++) leaked.add(desk.pool.getConnection());
        for (Connection connection : on ? List.<Connection>of() : leaked) connection.close();
    }

    /** A statement that takes a moment while a connection is held. */
    @Override public void answer(StringBuilder reply, int customer, boolean on) throws Exception {
        try (Connection connection = desk.pool.getConnection()) {
            Thread.sleep(5);
            reply.append(connection.isReadOnly());
        }
    }
}
