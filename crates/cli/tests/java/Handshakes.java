import java.io.FileInputStream;
import java.io.InputStream;
import java.security.KeyStore;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;

/**
 * Opens connections to itself with TLS, one after the other, until its standard input ends: all of one context, which resumes sessions
 * ("resumed"), or each of a new one ("anew"). The second word is a key store with the password "changeit".
 */
public class Handshakes {
    static KeyStore keys;

    public static void main(String[] args) throws Exception {
        boolean anew = args[0].equals("anew");
        keys = KeyStore.getInstance("PKCS12");
        try (InputStream file = new FileInputStream(args[1])) {
            keys.load(file, "changeit".toCharArray());
        }
        SSLServerSocket server = (SSLServerSocket) context().getServerSocketFactory().createServerSocket(0);
        start("server", () -> serve(server));
        start("client", () -> {
            SSLContext one = context();
            while (true) {
                call(anew ? context() : one, server.getLocalPort());
            }
        });
        // Until the compilers have come to rest.
        Thread.sleep(3000);
        System.out.println("ready");
        while (System.in.read() >= 0) {
        }
    }

    static void serve(SSLServerSocket server) throws Exception {
        while (true) {
            try (SSLSocket socket = (SSLSocket) server.accept()) {
                socket.setTcpNoDelay(true);
                socket.getOutputStream().write(socket.getInputStream().read());
            }
        }
    }

    static void call(SSLContext context, int port) throws Exception {
        try (SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket("localhost", port)) {
            socket.setTcpNoDelay(true);
            socket.getOutputStream().write(1);
            socket.getInputStream().read();
        }
    }

    static SSLContext context() throws Exception {
        KeyManagerFactory own = KeyManagerFactory.getInstance("PKIX");
        own.init(keys, "changeit".toCharArray());
        TrustManagerFactory trusted = TrustManagerFactory.getInstance("PKIX");
        trusted.init(keys);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(own.getKeyManagers(), trusted.getTrustManagers(), null);
        return context;
    }

    interface Body {
        void run() throws Exception;
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
