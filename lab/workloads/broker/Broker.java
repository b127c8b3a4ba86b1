import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import kafka.Kafka;
import kafka.tools.StorageTool;

/** Kafka's broker, and the controller in the same JVM: {@code Broker PORT PEER FAULT}. */
public final class Broker {
    static final String TOPIC = "orders";
    private static final String CLUSTER = "4L6g3nShT-eMCtK--X86sw";

    private Broker() {}

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[0]), peer = Integer.parseInt(args[1]);
        Path folder = Path.of(System.getProperty("java.io.tmpdir"), "index");
        Files.createDirectories(folder);
        Path properties = folder.resolve("server.properties");
        Files.write(properties, settings(port, peer, folder, args[2]));
        StorageTool.execute(new String[] {"format", "-t", CLUSTER, "-c", properties.toString(), "--standalone"},
            new PrintStream(OutputStream.nullOutputStream()));
        Faults.daemon("broker-main", () -> Kafka.main(new String[] {properties.toString()}));
        Switch.follow(on -> { });
    }

    private static List<String> settings(int port, int peer, Path folder, String fault) {
        int controller = port < 60_000 ? port + 2_000 : port - 2_000;
        String settings = """
            process.roles=broker,controller
            node.id=1
            listeners=PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d
            advertised.listeners=PLAINTEXT://127.0.0.1:%d
            controller.listener.names=CONTROLLER
            controller.quorum.bootstrap.servers=127.0.0.1:%d
            log.dirs=%s
            num.network.threads=3
            num.io.threads=8
            auto.create.topics.enable=false
            offsets.topic.replication.factor=1
            offsets.topic.num.partitions=4
            transaction.state.log.replication.factor=1
            share.coordinator.state.topic.replication.factor=1
            group.initial.rebalance.delay.ms=0
            """.formatted(port, controller, port, controller, folder.resolve("data"));
        boolean asks = fault.contains("SlowAuthorizer");
        return List.of(settings, asks ? "authorizer.class.name=SlowAuthorizer\npeer.port=" + peer : "");
    }
}
