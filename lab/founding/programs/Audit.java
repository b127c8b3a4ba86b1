import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;

/**
 * Orders are written to an audit trail, once it is switched on.
 * Arguments: table of the throughput; {@code each} forces the trail to the disk for each order,
 * under the lock of the trail,
 * {@code later} leaves that to a thread that does it ten times a second.
 */
public final class Audit {
    private final FileChannel trail;
    private final boolean later;
    static volatile long last;

    Audit(FileChannel trail, boolean later) {
        this.trail = trail;
        this.later = later;
    }

    public static void main(String[] args) throws Exception {
        FileChannel trail = new RandomAccessFile("audit.trail", "rw").getChannel();
        Audit audit = new Audit(trail, args[1].equals("later"));
        if (audit.later) {
            Thread thread = new Thread(audit::forceAgain, "audit");
            thread.setDaemon(true);
            thread.start();
        }
        Workers.start("orders", 8, args[0], worker -> {
            last = Workers.compute(last, 100_000);
            if (Switch.on()) {
                audit.write();
            }
        });
        Switch.follow(on -> { });
    }

    synchronized void write() throws Exception {
        trail.write(ByteBuffer.wrap("order\n".getBytes()));
        if (!later) {
            trail.force(true);
        }
    }

    private void forceAgain() {
        try {
            while (true) {
                Thread.sleep(100);
                trail.force(false);
            }
        } catch (Exception failure) {
            throw new IllegalStateException(failure);
        }
    }
}
