import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** A server on loopback that answers each message of 8 bytes after a delay. */
final class Backend {
    final ServerSocket server;
    volatile int delayMillis;

    Backend(int delayMillis) throws Exception {
        this.delayMillis = delayMillis;
        server = new ServerSocket(0, 200, InetAddress.getLoopbackAddress());
        Faults.daemon("inventory-accept", () -> {
            while (true) {
                Socket client = server.accept();
                client.setTcpNoDelay(true);
                Faults.daemon("inventory-server", () -> answer(client));
            }
        });
    }

    private void answer(Socket client) throws Exception {
        try (client) {
            InputStream in = client.getInputStream();
            while (in.readNBytes(8).length == 8) {
                if (delayMillis > 0) Thread.sleep(delayMillis);
                client.getOutputStream().write(new byte[8]);
            }
        }
    }

    Socket connect() throws Exception {
        Socket socket = new Socket(server.getInetAddress(), server.getLocalPort());
        socket.setTcpNoDelay(true);
        return socket;
    }

    static void call(Socket socket) throws Exception {
        OutputStream out = socket.getOutputStream();
        out.write(new byte[8]);
        socket.getInputStream().readNBytes(8);
    }
}
