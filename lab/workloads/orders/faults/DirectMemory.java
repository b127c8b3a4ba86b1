import java.nio.ByteBuffer;

/** Direct buffers up to the limit, which the JVM tries to free by collecting. */
public final class DirectMemory implements Fault {
    static volatile ByteBuffer last;

    public void duringOperation(int worker, boolean active) {
        if (active) last = ByteBuffer.allocateDirect(1 << 20);
    }
}
