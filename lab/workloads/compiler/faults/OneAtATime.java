import java.util.concurrent.Callable;

/** All compilations take one lock, since someone heard that javac is not thread-safe. */
public final class OneAtATime implements Fault {
    private final Object compiler = new Object();

    @Override public Boolean around(Job job, Callable<Boolean> compilation, boolean on) throws Exception {
        if (!on) return compilation.call();
        synchronized (compiler) {
            return compilation.call();
        }
    }
}
