import java.io.InputStream;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;

/**
 * Asks a service over HTTP and counts the answers:
 * {@code HttpLoad PORT PEER CLIENTS CSV FAULT}. It also is the {@link Peer} that the service
 * asks, so that both are outside of the JVM that is recorded.
 */
public final class HttpLoad {
    private static final int THINK_MS = 10, SLOW_READERS = 18;
    private static final Meter METER = new Meter();

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[0]), clients = Integer.parseInt(args[2]);
        String fault = args[4];
        Peer.start(Integer.parseInt(args[1]), fault);
        int think = fault.equals("Idle") ? 100 * THINK_MS : THINK_MS;
        for (int i = 0; i < clients; i++) {
            boolean pauses = fault.equals("FewerClients") && i % 2 == 0;
            Faults.daemon("client-" + i, () -> ask(port, think, pauses));
        }
        for (int i = 0; fault.equals("SlowReaders") && i < SLOW_READERS; i++) {
            Faults.daemon("slow-reader-" + i, () -> readSlowly(port));
        }
        METER.write(args[3]);
        Switch.follow(on -> { });
    }

    private static void ask(int port, int think, boolean pauses) throws Exception {
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + "/")).build();
        while (true) {
            try {
                client.send(request, HttpResponse.BodyHandlers.ofByteArray());
                METER.count();
            } catch (java.io.IOException failed) {
                Thread.sleep(100);
            }
            do Thread.sleep(think); while (pauses && Switch.on());
        }
    }

    /** Asks for much and takes it in little by little. */
    private static void readSlowly(int port) throws Exception {
        while (true) {
            while (!Switch.on()) Thread.sleep(20);
            try (Socket socket = new Socket()) {
                socket.setReceiveBufferSize(16_000);
                socket.connect(new InetSocketAddress("127.0.0.1", port));
                socket.getOutputStream().write("GET /export HTTP/1.1\r\nHost: s\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
                InputStream in = socket.getInputStream();
                byte[] some = new byte[8_000];
                while (Switch.on() && in.read(some) > 0) Thread.sleep(15);
            } catch (java.io.IOException failed) {
                Thread.sleep(100);
            }
        }
    }
}
