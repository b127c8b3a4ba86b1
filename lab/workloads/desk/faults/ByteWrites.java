import java.io.File;
import java.io.RandomAccessFile;

/** An attachment is written byte by byte. */
public final class ByteWrites implements Fault {
    @Override public void answer(StringBuilder reply, int customer, boolean on) throws Exception {
        File file = new File(System.getProperty("java.io.tmpdir"), "attachment-" + Thread.currentThread().getName());
        attach(file, new byte[4000], on);
    }

    private void attach(File file, byte[] bytes, boolean singly) throws Exception {
        try (RandomAccessFile out = new RandomAccessFile(file, "rw")) {
            if (singly) for (byte b : bytes) out.write(b); else out.write(bytes);
        }
    }
}
