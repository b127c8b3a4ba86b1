import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;

/**
 * Pictures are scaled in native memory of some tens of megabytes, once large ones come in.
 * Arguments: table of the throughput; {@code each} for memory of its own for each picture,
 * {@code kept} for one that each thread keeps.
 */
public final class Thumbnails {
    private static final long LARGE = 36 << 20, SMALL = 16 << 10;
    private static final int STEP = 1 << 12;
    static final ThreadLocal<MemorySegment> KEPT = ThreadLocal.withInitial(() -> Arena.global().allocate(LARGE));
    static volatile long last;

    public static void main(String[] args) throws Exception {
        boolean kept = args[1].equals("kept");
        Workers.start("pictures", 4, args[0], worker -> scale(kept));
        Switch.follow(on -> { });
    }

    static void scale(boolean kept) {
        last = Workers.compute(last, 30_000);
        long size = Switch.on() ? LARGE : SMALL;
        if (kept) {
            average(KEPT.get(), size);
            return;
        }
        try (Arena arena = Arena.ofConfined()) {
            average(arena.allocate(size), size);
        }
    }

    static void average(MemorySegment pixels, long size) {
        long sum = 0;
        for (long at = 0; at < size; at += STEP) {
            pixels.set(ValueLayout.JAVA_BYTE, at, (byte) at);
            sum += pixels.get(ValueLayout.JAVA_BYTE, at);
        }
        last = sum;
    }
}
