import java.io.FileOutputStream;
import java.io.IOException;

/**
 * Writes blocks of a quarter of a megabyte to a file and makes each durable before
 * the next: Syncs FILE.
 */
public final class Syncs {
    public static void main(String[] args) throws Exception {
        byte[] block = new byte[256 << 10];
        System.out.println("ready");
        while (true) {
            try (FileOutputStream file = new FileOutputStream(args[0])) {
                for (int i = 0; i < 64; i++) {
                    file.write(block);
                    makeDurable(file);
                    Thread.sleep(20);
                }
            }
        }
    }

    static void makeDurable(FileOutputStream file) throws IOException {
        file.getFD().sync();
    }
}
