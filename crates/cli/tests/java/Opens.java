import java.io.File;
import java.io.FileInputStream;
import java.io.FileNotFoundException;

/** Opens a file that is there so often, and one that is not, when it is asked to; then waits. */
public class Opens {
    static volatile Object sink;

    public static void main(String[] args) throws Exception {
        File there = File.createTempFile("opens-", ".there");
        there.deleteOnExit();
        System.out.println("ready");
        System.in.read();
        for (int i = 0; i < 50; i++) {
            open(there);
        }
        for (int i = 0; i < 20; i++) {
            open(new File(there.getPath() + ".not"));
        }
        byte[][] kept = new byte[64][];
        for (int i = 0; i < 2000; i++) {
            kept[i % 64] = allocate();
        }
        sink = kept;
        System.out.println("done");
        System.in.read();
    }

    static byte[] allocate() {
        return new byte[200_000];
    }

    static void open(File file) throws Exception {
        try (FileInputStream in = new FileInputStream(file)) {
            sink = in;
        } catch (FileNotFoundException e) {
            sink = e;
        }
    }
}
