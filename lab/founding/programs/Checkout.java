import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.security.KeyStore;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/**
 * A till asks a server over TLS, with a connection for each question. {@code server KEYS PORT}
 * answers; {@code client KEYS PORT TABLE} asks. KEYS is a key store with the password "changeit".
 */
public final class Checkout {
    public static void main(String[] args) throws Exception {
        SSLContext context = context(args[1]);
        int port = Integer.parseInt(args[2]);
        if (args[0].equals("server")) {
            SSLServerSocket server = (SSLServerSocket) context.getServerSocketFactory().createServerSocket(port);
            for (int i = 0; i < 2; i++) {
                Thread thread = new Thread(() -> answer(server), "server-" + i);
                thread.setDaemon(true);
                thread.start();
            }
        } else {
            Workers.start("till", 2, args[3], worker -> ask(context, port));
        }
        Switch.follow(on -> { });
    }

    static void answer(SSLServerSocket server) {
        while (true) {
            try (SSLSocket socket = (SSLSocket) server.accept()) {
                socket.setTcpNoDelay(true);
                socket.getOutputStream().write(socket.getInputStream().read());
            } catch (IOException gone) {
                // The till has ended.
            }
        }
    }

    static void ask(SSLContext context, int port) throws IOException {
        try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("localhost", port)) {
            socket.setTcpNoDelay(true);
            socket.getOutputStream().write(1);
            socket.getInputStream().read();
        }
    }

    static SSLContext context(String path) throws Exception {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream file = new FileInputStream(path)) {
            keys.load(file, "changeit".toCharArray());
        }
        KeyManagerFactory own = KeyManagerFactory.getInstance("PKIX");
        own.init(keys, "changeit".toCharArray());
        TrustManagerFactory trusted = TrustManagerFactory.getInstance("PKIX");
        trusted.init(keys);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(own.getKeyManagers(), trusted.getTrustManagers(), null);
        return context;
    }
}
