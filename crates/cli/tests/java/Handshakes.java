import java.io.FileInputStream;
import java.io.InputStream;
import java.security.KeyStore;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/**
 * Connections with TLS, one after the other, until its standard input ends: "server KEYS" takes
 * them and says its port, "client KEYS PORT" makes them, all of one context, so that sessions can
 * be resumed. KEYS is a key store with the password "changeit".
 */
public class Handshakes {
    interface Body {
        void run() throws Exception;
    }

    public static void main(String[] args) throws Exception {
        KeyStore keys = KeyStore.getInstance("PKCS12");
        try (InputStream file = new FileInputStream(args[1])) {
            keys.load(file, "changeit".toCharArray());
        }
        SSLContext context = context(keys);
        if (args[0].equals("server")) {
            SSLServerSocket server = (SSLServerSocket) context.getServerSocketFactory().createServerSocket(0);
            System.out.println("port " + server.getLocalPort());
            start("server", () -> serve(server));
        } else {
            start("client", () -> call(context, Integer.parseInt(args[2])));
        }
        System.out.println("ready");
        while (System.in.read() >= 0) {
        }
    }

    static void serve(SSLServerSocket server) throws Exception {
        while (true) {
            try (SSLSocket socket = (SSLSocket) server.accept()) {
                socket.setTcpNoDelay(true);
                socket.getOutputStream().write(socket.getInputStream().read());
            } catch (java.io.IOException e) {
                // A client that has gone.
            }
        }
    }

    static void call(SSLContext context, int port) throws Exception {
        while (true) {
            try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("localhost", port)) {
                socket.setTcpNoDelay(true);
                socket.getOutputStream().write(1);
                socket.getInputStream().read();
            }
        }
    }

    static SSLContext context(KeyStore keys) throws Exception {
        KeyManagerFactory own = KeyManagerFactory.getInstance("PKIX");
        own.init(keys, "changeit".toCharArray());
        TrustManagerFactory trusted = TrustManagerFactory.getInstance("PKIX");
        trusted.init(keys);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(own.getKeyManagers(), trusted.getTrustManagers(), null);
        return context;
    }

    static void start(String name, Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }
}
