import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousSocketChannel;
import java.nio.channels.CompletionHandler;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;

/**
 * Calls of a server that nobody waits for, four at a time; it answers after
 * 20 ms instead of at once.
 */
public final class AsyncPermits implements Fault {
    private final Semaphore permits = new Semaphore(4);
    private final ConcurrentLinkedQueue<AsynchronousSocketChannel> idle = new ConcurrentLinkedQueue<>();
    private Backend backend;

    public void prepare(int workers) throws Exception {
        backend = new Backend(0);
        for (int i = 0; i < 4; i++) {
            AsynchronousSocketChannel channel = AsynchronousSocketChannel.open();
            InetSocketAddress server =
                new InetSocketAddress(backend.server.getInetAddress(), backend.server.getLocalPort());
            channel.connect(server).get();
            idle.add(channel);
        }
    }

    public void changed(boolean active) {
        backend.delayMillis = active ? 20 : 0;
    }

    public void duringOperation(int worker, boolean active) throws Exception {
        announceOrder();
    }

    private void announceOrder() throws InterruptedException {
        permits.acquire();
        AsynchronousSocketChannel channel = idle.remove();
        channel.write(ByteBuffer.allocate(8), channel, new CompletionHandler<Integer, AsynchronousSocketChannel>() {
            public void completed(Integer written, AsynchronousSocketChannel to) {
                answer(to, ByteBuffer.allocate(8));
            }

            public void failed(Throwable error, AsynchronousSocketChannel to) {
                permits.release();
            }
        });
    }

    private void answer(AsynchronousSocketChannel from, ByteBuffer into) {
        from.read(into, from, new CompletionHandler<Integer, AsynchronousSocketChannel>() {
            public void completed(Integer read, AsynchronousSocketChannel channel) {
                idle.add(channel);
                permits.release();
            }

            public void failed(Throwable error, AsynchronousSocketChannel channel) {
                permits.release();
            }
        });
    }
}
