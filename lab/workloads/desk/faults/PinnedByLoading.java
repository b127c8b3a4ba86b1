import java.io.InputStream;
import java.util.Map;
import java.util.concurrent.Callable;

/**
 * Each request loads a plug-in of two classes, the second of which is far away. First it is brought
 * before it is needed; then when the JVM asks for it, which keeps a virtual thread's carrier.
 */
public final class PinnedByLoading implements Fault {
    private final Map<String, byte[]> classes = new java.util.HashMap<>();

    /** The plug-in. */
    public static final class Plugin implements Callable<Integer> {
        @Override public Integer call() {
            return Rules.vat();
        }
    }

    /** What it is linked to. */
    public static final class Rules {
        static int vat() {
            return 19;
        }
    }

    private final class Loader extends ClassLoader {
        private final boolean lazy;

        Loader(boolean lazy) {
            super(PinnedByLoading.class.getClassLoader());
            this.lazy = lazy;
        }

        @Override protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            byte[] code = classes.get(name);
            if (code == null) return super.loadClass(name, resolve);
            if (lazy && name.endsWith("Rules")) fetchClass();
            return defineClass(name, code, 0, code.length);
        }
    }

    @Override public void prepare(Desk desk) throws Exception {
        for (Class<?> type : new Class<?>[] {Plugin.class, Rules.class}) {
            try (InputStream in = type.getResourceAsStream(type.getName() + ".class")) {
                classes.put(type.getName(), in.readAllBytes());
            }
        }
    }

    @Override public void answer(StringBuilder reply, int customer, boolean on) throws Exception {
        if (!on) fetchClass();
        Class<?> plugin = new Loader(on).loadClass(Plugin.class.getName(), false);
        reply.append(((Callable<?>) plugin.getDeclaredConstructor().newInstance()).call());
    }

    private static void fetchClass() {
        try {
            Thread.sleep(20);
        } catch (InterruptedException ended) {
            throw new IllegalStateException(ended);
        }
    }
}
