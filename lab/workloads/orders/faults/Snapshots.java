import java.nio.file.Files;
import java.nio.file.Path;

/** No fault: another thread writes a megabyte to a file every second. */
public final class Snapshots implements Fault {
    @Override public void changed(boolean active) {
        if (!active) return;
        Faults.daemon("snapshots", () -> {
            Path folder = Files.createDirectories(Path.of(System.getProperty("java.io.tmpdir"), "index"));
            while (Service.active) {
                Files.write(folder.resolve("snapshot"), new byte[1 << 20]);
                Thread.sleep(1000);
            }
        });
    }
}
