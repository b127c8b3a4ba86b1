import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Each request forces a line to disk, as it always did: what goes wrong is that
 * others write to the disk.
 */
public final class JournalForced implements Fault {
    private FileChannel journal;

    @Override public void prepare(Desk desk) throws Exception {
        Path file = Path.of(System.getProperty("java.io.tmpdir"), "journal");
        journal = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    @Override public void answer(StringBuilder reply, int customer, boolean on) throws Exception {
        journal.write(ByteBuffer.wrap(new byte[200]));
        journal.force(false);
    }
}
