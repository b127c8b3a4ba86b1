import java.io.RandomAccessFile;
import java.lang.reflect.Field;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import sun.misc.Unsafe;

/**
 * Touches memory for the first time: Faults WHAT MEGABYTES [FILE], a round of it for each
 * line that it is sent.
 */
public final class Faults {
    private static final int PAGE = 4096;
    static Object kept;
    static long sum;

    public static void main(String[] args) throws Exception {
        String what = args[0];
        int pages = Integer.parseInt(args[1]) * 256;
        System.out.println("ready");
        while (System.in.read() == '\n') {
            switch (what) {
                case "native":
                    touchNative(pages);
                    break;
                case "heap":
                    touchHeap(pages);
                    break;
                case "file":
                    touchFile(args[2], pages);
                    break;
                default:
                    throw new IllegalArgumentException(what);
            }
            System.out.println("done");
        }
    }

    static void touchNative(int pages) throws Exception {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        Unsafe unsafe = (Unsafe) field.get(null);
        long at = unsafe.allocateMemory((long) pages * PAGE);
        for (int i = 0; i < pages; i++) {
            unsafe.putByte(at + (long) i * PAGE, (byte) 1);
        }
        unsafe.freeMemory(at);
    }

    static void touchHeap(int pages) {
        byte[][] blocks = new byte[pages / 256][];
        for (int i = 0; i < blocks.length; i++) {
            blocks[i] = allocate();
        }
        kept = blocks;
    }

    static byte[] allocate() {
        return new byte[1 << 20];
    }

    static void touchFile(String path, int pages) throws Exception {
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            file.setLength((long) pages * PAGE);
            MappedByteBuffer map = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, (long) pages * PAGE);
            for (int i = 0; i < pages; i++) {
                map.put(i * PAGE, (byte) 1);
            }
        }
    }
}
