import java.io.InputStream;
import java.net.URI;

/** Each compilation asks the repository whether its libraries are the newest; it answers late. */
public final class SlowPeer implements Fault {
    private static final int LIBRARIES = 4;
    private int port;

    @Override public void prepare(Builds builds) {
        port = builds.peer;
    }

    @Override public void plan(Job job, boolean on) throws Exception {
        for (int i = 0; i < LIBRARIES; i++) resolve();
    }

    private void resolve() throws Exception {
        try (InputStream in = URI.create("http://127.0.0.1:" + port + "/").toURL().openStream()) {
            in.readAllBytes();
        }
    }
}
