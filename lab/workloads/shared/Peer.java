import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;

/**
 * What a service asks in turn: an HTTP server with a thread a connection, and the faults of such.
 */
final class Peer {
    private static final String BODY = "a good book";

    private Peer() {}

    static void start(int port, String fault) throws IOException {
        ServerSocket server = new ServerSocket(port, fault.equals("FullBacklog") ? 1 : 200, InetAddress.getLoopbackAddress());
        Faults.daemon("peer-accept", () -> {
            while (true) {
                while (fault.equals("FullBacklog") && Switch.on()) Thread.sleep(20);
                Socket socket = server.accept();
                Faults.daemon("peer", () -> serve(socket, fault));
            }
        });
    }

    private static void serve(Socket socket, String fault) throws Exception {
        try (socket) {
            BufferedReader in = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
            OutputStream out = socket.getOutputStream();
            while (true) {
                String line = in.readLine();
                while (line != null && !line.isEmpty()) line = in.readLine();
                if (line == null || !answer(out, Switch.on() ? fault : "none")) return;
            }
        } catch (IOException gone) {
            // Its client has gone away, as clients do.
        }
    }

    /** Answers once; false: this connection is not to be used again. */
    private static boolean answer(OutputStream out, String fault) throws Exception {
        boolean closes = fault.contains("ClosedConnections");
        String status = fault.contains("Backoff") ? "503 Busy" : "200 OK";
        String head = "HTTP/1.1 " + status + "\r\n" + (closes ? "Connection: close\r\n" : "") + "Content-Length: " + BODY.length() + "\r\n";
        if (fault.contains("SlowPeer")) Thread.sleep(25);
        if (fault.contains("SplitWrites")) {
            for (String part : new String[] {head, "\r\n", BODY}) out.write(part.getBytes(StandardCharsets.US_ASCII));
        } else {
            out.write((head + "\r\n" + BODY).getBytes(StandardCharsets.US_ASCII));
        }
        return !closes;
    }
}
