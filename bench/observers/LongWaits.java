import java.nio.file.Path;
import java.util.Set;
import java.util.TreeMap;
import jdk.jfr.consumer.RecordedClass;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;

/**
 * What a flight recording says of waits for locks: {@code kind count nanoseconds}, a line each; of
 * all, and of those from a millisecond on.
 */
public class LongWaits {
    /** Parked for a lock, not at rest. */
    private static final String LOCK = "java.util.concurrent.locks.ReentrantLock$NonfairSync";

    public static void main(String[] args) throws Exception {
        TreeMap<String, long[]> sums = new TreeMap<>();
        try (RecordingFile file = new RecordingFile(Path.of(args[0]))) {
            while (file.hasMoreEvents()) {
                RecordedEvent event = file.readEvent();
                String type = event.getEventType().getName();
                if (type.equals("jdk.DataLoss")) {
                    add(sums, "lost_bytes", event.getLong("amount"));
                }
                String field = type.equals("jdk.JavaMonitorEnter") ? "monitorClass" : "parkedClass";
                if (!Set.of("jdk.JavaMonitorEnter", "jdk.ThreadPark").contains(type)) {
                    continue;
                }
                RecordedClass of = event.getClass(field);
                if (type.equals("jdk.ThreadPark") && (of == null || !of.getName().replace('/', '.').equals(LOCK))) {
                    continue;
                }
                String kind = type.equals("jdk.ThreadPark") ? "lock" : "monitor";
                long ns = event.getDuration().toNanos();
                add(sums, kind, ns);
                if (ns >= 1_000_000) {
                    add(sums, "long_" + kind, ns);
                }
            }
        }
        sums.forEach((kind, sum) -> System.out.println(kind + " " + sum[0] + " " + sum[1]));
    }

    private static void add(TreeMap<String, long[]> sums, String kind, long ns) {
        long[] sum = sums.computeIfAbsent(kind, none -> new long[2]);
        sum[0] += 1;
        sum[1] += ns;
    }
}
