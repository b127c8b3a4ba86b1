import java.net.Socket;
import java.util.concurrent.ArrayBlockingQueue;

/** Four connections for all workers, to a server that takes 20 ms instead of none. */
public final class SlowPeer implements Fault {
    private final ArrayBlockingQueue<Socket> connections = new ArrayBlockingQueue<>(4);
    private Backend backend;

    public void prepare(int workers) throws Exception {
        backend = new Backend(0);
        for (int i = 0; i < 4; i++) connections.add(backend.connect());
    }

    public void changed(boolean active) {
        backend.delayMillis = active ? 20 : 0;
    }

    public void duringOperation(int worker, boolean active) throws Exception {
        reserveStock();
    }

    private void reserveStock() throws Exception {
        Socket connection = connections.take();
        try {
            Backend.call(connection);
        } finally {
            connections.put(connection);
        }
    }
}
