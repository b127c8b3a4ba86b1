import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.ClientQuotaAlteration;
import org.apache.kafka.common.quota.ClientQuotaEntity;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Sends messages to the broker, each when the one before was acknowledged, reads them again, and
 * does to the broker what goes wrong: {@code ProducerLoad PORT PEER PRODUCERS CSV FAULT}.
 */
public final class ProducerLoad {
    private static final int THINK_MS = 4, PARTITIONS = 4, BYTES = 20_000, CONSUMERS = 2, POLLERS = 24;
    private static final Meter METER = new Meter();
    private static String servers, fault;

    public static void main(String[] args) throws Exception {
        servers = "127.0.0.1:" + args[0];
        fault = args[4];
        Peer.start(Integer.parseInt(args[1]), fault.contains("SlowAuthorizer") ? "SlowPeer" : "none");
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", servers))) {
            create(admin);
            int producers = Integer.parseInt(args[2]);
            for (int i = 0; i < producers; i++) {
                int number = i;
                Faults.daemon("producer-" + i, () -> send(number));
            }
            for (int i = 0; i < CONSUMERS; i++) Faults.daemon("consumer-" + i, () -> read("billing", false));
            for (int i = 0; fault.contains("Pollers") && i < POLLERS; i++) Faults.daemon("poller-" + i, () -> read(null, true));
            METER.write(args[3]);
            Switch.follow(on -> change(admin, on));
        }
    }

    private static void create(Admin admin) throws Exception {
        while (true) {
            try {
                admin.createTopics(List.of(new NewTopic(Broker.TOPIC, PARTITIONS, (short) 1))).all().get();
                return;
            } catch (java.util.concurrent.ExecutionException notYet) {
                Thread.sleep(200);
            }
        }
    }

    private static KafkaProducer<byte[], byte[]> producer(int number) {
        return new KafkaProducer<>(Map.of("bootstrap.servers", servers, "acks", "all", "linger.ms", "0", "client.id", "shop-" + number),
            new ByteArraySerializer(), new ByteArraySerializer());
    }

    private static void send(int number) throws Exception {
        Random random = new Random(number);
        int think = fault.equals("Idle") ? 100 * THINK_MS : THINK_MS;
        KafkaProducer<byte[], byte[]> producer = producer(number);
        while (true) {
            byte[] message = new byte[BYTES];
            for (int i = 0; i < BYTES; i++) message[i] = (byte) ('a' + random.nextInt(16));
            producer.send(new ProducerRecord<>(Broker.TOPIC, number % PARTITIONS, null, message)).get();
            METER.count();
            do Thread.sleep(think); while (fault.equals("FewerClients") && number % 2 == 0 && Switch.on());
            if (fault.contains("NewConnections") && Switch.on()) {
                producer.close();
                producer = producer(number);
            }
        }
    }

    /**
     * Reads all partitions; who is in a hurry asks again and again for what there is, and
     * starts from the beginning.
     */
    private static void read(String group, boolean hurried) throws Exception {
        Map<String, Object> settings = new java.util.HashMap<>(Map.of("bootstrap.servers", servers, "auto.offset.reset", "earliest"));
        if (group != null) settings.put("group.id", group);
        if (hurried) settings.putAll(Map.of("fetch.max.wait.ms", "1", "max.partition.fetch.bytes", "100000"));
        while (hurried && !Switch.on()) Thread.sleep(20);
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            if (hurried) {
                consumer.assign(List.of(new org.apache.kafka.common.TopicPartition(Broker.TOPIC, 0)));
            } else {
                consumer.subscribe(List.of(Broker.TOPIC));
            }
            while (true) {
                while (hurried && !Switch.on()) Thread.sleep(20);
                consumer.poll(Duration.ofMillis(hurried ? 1 : 500));
            }
        }
    }

    /** What is set in the broker when the fault begins, and taken back when it ends. */
    private static void change(Admin admin, boolean on) throws Exception {
        switch (fault.split(",")[0]) {
            case "FlushEachMessage" -> topic(admin, "flush.messages", on ? "1" : "1000000000");
            case "Recompress" -> topic(admin, "compression.type", on ? "gzip" : "producer");
            case "SmallSegments" -> topic(admin, "segment.bytes", on ? "1048576" : "1073741824");
            case "Quota" -> quota(admin, on ? 200_000.0 : null);
            default -> { }
        }
    }

    private static void topic(Admin admin, String key, String value) throws Exception {
        Collection<AlterConfigOp> change = List.of(new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET));
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.TOPIC, Broker.TOPIC), change)).all().get();
    }

    private static void quota(Admin admin, Double bytesPerSecond) throws Exception {
        java.util.Map<String, String> entity = new java.util.HashMap<>();
        entity.put(ClientQuotaEntity.CLIENT_ID, null);
        ClientQuotaAlteration.Op op = new ClientQuotaAlteration.Op("producer_byte_rate", bytesPerSecond);
        admin.alterClientQuotas(List.of(new ClientQuotaAlteration(new ClientQuotaEntity(entity), List.of(op)))).all().get();
    }
}
