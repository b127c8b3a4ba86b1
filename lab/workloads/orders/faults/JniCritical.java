import java.util.zip.Deflater;

/** Compression of large arrays, which holds collections off. */
public final class JniCritical implements Fault {
    private final byte[] page = new byte[200_000];
    static volatile byte[] last;

    public void prepare(int workers) {
        new java.util.Random(1).nextBytes(page);
    }

    public void duringOperation(int worker, boolean active) {
        if (!active) return;
        last = new byte[300_000];
        Deflater deflater = new Deflater(9);
        deflater.setInput(page);
        deflater.finish();
        deflater.deflate(new byte[300_000]);
        deflater.end();
    }
}
