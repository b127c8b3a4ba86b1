import java.io.RandomAccessFile;

/** A file that is forced to disk in each operation. */
public final class Fsync implements Fault {
    private RandomAccessFile[] files;

    public void prepare(int workers) throws Exception {
        files = new RandomAccessFile[workers];
        for (int i = 0; i < workers; i++) files[i] = new RandomAccessFile("journal-" + i + ".wal", "rw");
    }

    public void duringOperation(int worker, boolean active) throws Exception {
        files[worker].seek(0);
        files[worker].write(new byte[4096]);
        if (active) files[worker].getFD().sync();
    }
}
