import java.io.FileOutputStream;

/** A file that is written byte by byte. */
public final class OneByteWrites implements Fault {
    private FileOutputStream[] files;

    public void prepare(int workers) throws Exception {
        files = new FileOutputStream[workers];
        for (int i = 0; i < workers; i++) files[i] = new FileOutputStream("journal-" + i + ".dat");
    }

    public void duringOperation(int worker, boolean active) throws Exception {
        append(files[worker], new byte[2000], active);
    }

    private void append(FileOutputStream file, byte[] entry, boolean singly) throws Exception {
        if (singly) for (byte b : entry) file.write(b); else file.write(entry);
        file.getChannel().position(0);
    }
}
