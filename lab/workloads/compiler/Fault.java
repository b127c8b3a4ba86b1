import java.util.List;
import java.util.concurrent.Callable;

/** What may go wrong in the build service. */
interface Fault {
    /** Before the first request. */
    default void prepare(Builds builds) throws Exception {}

    /** Once when the fault begins, and once when it ends. */
    default void changed(boolean on) throws Exception {}

    /** What a compilation is to do, before it begins, whether the fault is on or not. */
    default void plan(Job job, boolean on) throws Exception {}

    /** Around each compilation. */
    default Boolean around(Job job, Callable<Boolean> compilation, boolean on) throws Exception {
        return compilation.call();
    }

    /** After each compilation, with the classes that it made. */
    default void done(Job job, List<byte[]> classes, boolean on) throws Exception {}
}
