import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * A help desk: tickets in H2 behind a pool of connections, answered over HTTP:
 * {@code Desk PORT PEER FAULT}. With
 * {@code -Ddesk.virtual=true} each request has a virtual thread.
 */
public final class Desk {
    static final int TICKETS = 60_000, CUSTOMERS = 6_000, CONNECTIONS = 6;
    private final List<Fault> faults;
    final HikariDataSource pool;
    final int peer;

    private Desk(int peer, List<Fault> faults) throws Exception {
        this.peer = peer;
        this.faults = faults;
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl("jdbc:h2:mem:desk;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=20000");
        config.setMaximumPoolSize(CONNECTIONS);
        pool = new HikariDataSource(config);
        sql("create table ticket(id int primary key, customer int, text varchar, state int)");
        sql("insert into ticket select x, x / 10, 'the text of ticket ' || x || ' is not long', mod(x, 7)"
                + " from system_range(0, " + (TICKETS - 1) + ")");
        sql("create index by_customer on ticket(customer)");
        sql("create table counter(id int primary key, n int)");
        sql("insert into counter values (1, 0), (2, 0)");
        for (Fault fault : faults) fault.prepare(this);
    }

    void sql(String text) throws SQLException {
        try (Connection connection = pool.getConnection(); Statement statement = connection.createStatement()) {
            statement.execute(text);
        }
    }

    /** The tickets of a customer, as every request lists them. */
    void list(int customer, StringBuilder reply) throws SQLException {
        try (Connection connection = pool.getConnection();
                PreparedStatement query = connection.prepareStatement("select id, text from ticket where customer = ?")) {
            query.setInt(1, customer);
            try (ResultSet tickets = query.executeQuery()) {
                while (tickets.next()) reply.append(tickets.getInt(1)).append(tickets.getString(2)).append(';');
            }
        }
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            int customer = ThreadLocalRandom.current().nextInt(CUSTOMERS);
            StringBuilder reply = new StringBuilder();
            list(customer, reply);
            for (Fault fault : faults) fault.answer(reply, customer, Switch.on());
            byte[] bytes = reply.toString().getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, bytes.length);
            exchange.getResponseBody().write(bytes);
        } catch (Exception failed) {
            failed.printStackTrace();
        }
    }

    /**
     * Threads of the platform or, where there are any, virtual ones: javac of 17
     * does not know of those.
     */
    static ExecutorService threads() throws Exception {
        if (Boolean.getBoolean("desk.virtual")) {
            return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        }
        AtomicInteger number = new AtomicInteger();
        return Executors.newFixedThreadPool(16, task -> new Thread(task, "desk-" + number.incrementAndGet()));
    }

    public static void main(String[] args) throws Exception {
        List<Fault> faults = Faults.named(args[2], Fault.class);
        Desk desk = new Desk(Integer.parseInt(args[1]), faults);
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 200);
        server.setExecutor(threads());
        server.createContext("/", desk::handle);
        server.start();
        Switch.follow(on -> {
            for (Fault fault : faults) fault.changed(on);
        });
    }
}
