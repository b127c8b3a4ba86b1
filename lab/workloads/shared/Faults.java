import java.util.ArrayList;
import java.util.List;

/** Finds the faults that a service was asked to have. */
final class Faults {
    private Faults() {}

    /** An object of each class of a list with commas; {@code none} is none. */
    static <T> List<T> named(String names, Class<T> type) throws Exception {
        List<T> faults = new ArrayList<>();
        for (String name : names.split(",")) {
            if (!name.equals("none")) faults.add(type.cast(Class.forName(name).getDeclaredConstructor().newInstance()));
        }
        return faults;
    }

    /** Starts a daemon thread whose failure is printed. */
    static Thread daemon(String name, Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Throwable end) {
                end.printStackTrace();
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    interface Body {
        void run() throws Exception;
    }
}
