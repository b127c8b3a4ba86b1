import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/** The classes are written to a folder, and each is forced to the disk. */
public final class ForcedClasses implements Fault {
    @Override public void done(Job job, List<byte[]> classes, boolean on) throws Exception {
        Path folder = Builds.folder(Thread.currentThread().getName());
        for (int i = 0; i < classes.size(); i++) save(folder.resolve(i + ".class"), classes.get(i), on);
    }

    private static void save(Path file, byte[] bytes, boolean force) throws Exception {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
            channel.write(ByteBuffer.wrap(bytes));
            if (force) channel.force(true);
        }
    }
}
