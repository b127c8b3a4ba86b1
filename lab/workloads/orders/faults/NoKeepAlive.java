import java.net.Socket;

/** A connection of its own for each call instead of one for all. */
public final class NoKeepAlive implements Fault {
    private Backend backend;
    private Socket[] connections;

    public void prepare(int workers) throws Exception {
        backend = new Backend(0);
        connections = new Socket[workers];
        for (int i = 0; i < workers; i++) connections[i] = backend.connect();
    }

    public void duringOperation(int worker, boolean active) throws Exception {
        for (int i = 0; i < 10; i++) {
            if (active) {
                try (Socket connection = backend.connect()) {
                    Backend.call(connection);
                }
            } else {
                Backend.call(connections[worker]);
            }
        }
    }
}
