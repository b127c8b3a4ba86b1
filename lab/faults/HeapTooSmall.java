import java.util.ArrayList;
import java.util.List;

/** What is kept nearly fills the heap. */
public final class HeapTooSmall implements Fault {
    private final List<byte[]> sessions = new ArrayList<>();

    public void changed(boolean active) {
        sessions.clear();
        long most = Runtime.getRuntime().maxMemory();
        if (active) for (long kept = 0; kept < most * 0.92; kept += 1024) sessions.add(new byte[1000]);
    }
}
