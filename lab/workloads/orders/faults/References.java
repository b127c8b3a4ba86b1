import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

/** A million and a half weak references for the collector to process. */
public final class References implements Fault {
    private final List<WeakReference<Object>> references = new ArrayList<>();
    private final List<Object> kept = new ArrayList<>();

    public void changed(boolean active) {
        references.clear();
        kept.clear();
        if (!active) return;
        for (int i = 0; i < 1_500_000; i++) {
            Object value = new Object();
            kept.add(value);
            references.add(new WeakReference<>(value));
        }
        Faults.daemon("cache-refresher", () -> {
            while (Service.active) {
                Thread.sleep(100);
                for (int i = 0; i < 200_000; i++) references.set(i, new WeakReference<>(new Object()));
            }
        });
    }
}
