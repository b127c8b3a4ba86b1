import java.io.File;

/** A folder of 600 files that is listed and looked at in each operation. */
public final class DirectoryListing implements Fault {
    private final File folder = new File("inbox");

    public void prepare(int workers) throws Exception {
        folder.mkdirs();
        for (int i = 0; i < 600; i++) new File(folder, "message-" + i).createNewFile();
    }

    public void duringOperation(int worker, boolean active) {
        if (active) poll();
    }

    private long poll() {
        long newest = 0;
        for (File file : folder.listFiles()) newest = Math.max(newest, file.lastModified());
        return newest;
    }
}
