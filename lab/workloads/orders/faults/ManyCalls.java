import java.net.Socket;

/** Sixty calls of a server for each operation instead of one. */
public final class ManyCalls implements Fault {
    private Socket[] connections;

    public void prepare(int workers) throws Exception {
        Backend backend = new Backend(0);
        connections = new Socket[workers];
        for (int i = 0; i < workers; i++) connections[i] = backend.connect();
    }

    public void duringOperation(int worker, boolean active) throws Exception {
        loadLines(connections[worker], active ? 60 : 1);
    }

    private void loadLines(Socket connection, int lines) throws Exception {
        for (int i = 0; i < lines; i++) Backend.call(connection);
    }
}
