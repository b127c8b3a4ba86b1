import java.nio.ByteBuffer;

/** Each request takes 2 MB of direct memory, of which there is little. */
public final class DirectBuffers implements Fault {
    @Override public void answer(StringBuilder reply, int customer, boolean on) {
        reply.append(page(on ? 2_000_000 : 2_000));
    }

    private int page(int bytes) {
        ByteBuffer buffer = ByteBuffer.allocateDirect(bytes);
        buffer.put(0, (byte) 1);
        return buffer.capacity();
    }
}
