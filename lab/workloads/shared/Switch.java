import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Whether the fault is on: said by lines of standard input, {@code on} and {@code off}. */
final class Switch {
    /** What is done when the fault begins, and when it ends. */
    interface Listener {
        void changed(boolean on) throws Exception;
    }

    private static volatile boolean on;

    private Switch() {}

    static boolean on() {
        return on;
    }

    /**
     * Says that the program is ready and follows standard input, whose end is
     * the end of the program.
     */
    static void follow(Listener listener) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready");
        for (String line; (line = lines.readLine()) != null; ) {
            on = line.equals("on");
            listener.changed(on);
        }
        Runtime.getRuntime().halt(0);
    }
}
