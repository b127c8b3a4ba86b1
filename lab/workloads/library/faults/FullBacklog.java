import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.Map;
import java.util.Random;

/** The peer takes no connections any more; a connection of its own is made for each request. */
public final class FullBacklog implements Fault {
    private int port;

    @Override public void prepare(Library library) {
        port = library.peer;
    }

    @Override public void answer(Map<String, Object> reply, Random random, boolean on) {
        reply.put("audited", audit());
    }

    private boolean audit() {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress("127.0.0.1", port), 400);
            return true;
        } catch (IOException failed) {
            return false;
        }
    }
}
