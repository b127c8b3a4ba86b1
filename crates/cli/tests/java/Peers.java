import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.UnknownHostException;

/**
 * Connects to a server of its own, and to a port where none is any more, and resolves a
 * name that is in /etc/hosts and one that cannot be asked for, when it is asked to. Says
 * with whom it connects.
 */
public class Peers {
    static final int TIMES = 5;

    public static void main(String[] args) throws Exception {
        // The library that connects is loaded, and known to whoever looks on, before it is watched.
        try (ServerSocket first = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            connect(first.getLocalPort());
        }
        System.out.println("ready");
        System.in.read();
        Thread thread = new Thread(Peers::all, "peers");
        thread.start();
        thread.join();
        System.out.println("done");
        System.in.read();
        Thread.sleep(60_000);
    }

    static void all() {
        try (ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            // Whoever looks on from outside has to find a new thread first.
            Thread.sleep(500);
            for (int i = 0; i < TIMES; i++) {
                connect(server.getLocalPort());
            }
            System.out.println("accepted 127.0.0.1:" + server.getLocalPort());
            int port;
            try (ServerSocket gone = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                port = gone.getLocalPort();
            }
            connect(port);
            System.out.println("refused 127.0.0.1:" + port);
            resolve("localhost");
            resolve("x".repeat(70) + ".test");
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    static void connect(int port) {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            socket.setTcpNoDelay(true);
        } catch (IOException e) {
            System.out.println("not connected: " + e.getMessage());
        }
    }

    static void resolve(String name) {
        try {
            System.out.println("resolved " + InetAddress.getByName(name).isLoopbackAddress());
        } catch (UnknownHostException e) {
            System.out.println("unknown");
        }
    }
}
