import java.io.DataInputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Scanner;

/** A server in a process of its own; it answers each message of 8 bytes after as many milliseconds as the first byte says. */
public final class DistantServer {
    private DistantServer() {}

    public static void main(String[] args) throws Exception {
        ServerSocket server = new ServerSocket(0, 200, InetAddress.getLoopbackAddress());
        System.out.println(server.getLocalPort());
        // Whoever started it ends with its standard input.
        Thread parent = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {}
            } catch (Exception gone) {
                // The same.
            }
            System.exit(0);
        });
        parent.setDaemon(true);
        parent.start();
        while (true) {
            Socket client = server.accept();
            client.setTcpNoDelay(true);
            new Thread(() -> answer(client)).start();
        }
    }

    private static void answer(Socket client) {
        try (client) {
            DataInputStream in = new DataInputStream(client.getInputStream());
            byte[] message = new byte[8];
            while (true) {
                in.readFully(message);
                if (message[0] > 0) Thread.sleep(message[0]);
                client.getOutputStream().write(message);
            }
        } catch (Exception closed) {
            // The client has gone.
        }
    }

    /** Starts one, which ends with this process. */
    static InetSocketAddress start() throws Exception {
        String java = System.getProperty("java.home") + "/bin/java";
        String classes = System.getProperty("java.class.path");
        ProcessBuilder builder = new ProcessBuilder(java, "-Xmx32m", "-XX:+UseSerialGC", "-cp", classes, "DistantServer");
        Process process = builder.redirectError(ProcessBuilder.Redirect.INHERIT).start();
        int port = new Scanner(process.getInputStream()).nextInt();
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    }
}
