/** A source that nests lambdas in calls of an overloaded method: javac tries all combinations. */
public final class NestedLambdas implements Fault {
    private static final int DEPTH = 12;
    private Source source, flat;

    @Override public void prepare(Builds builds) {
        flat = source(1);
        source = source(DEPTH);
    }

    private static Source source(int depth) {
        String call = "run(() -> ".repeat(depth) + "run()" + ")".repeat(depth);
        return new Source("generated/Nested.java", """
            package generated;
            import java.util.concurrent.*;
            final class Nested {
                static <T> Future<T> run(Callable<T> task) { return null; }
                static Future<?> run(Runnable task) { return null; }
                static <T> Future<T> run(Runnable task, T result) { return null; }
                static String run() { return ""; }
                static Object all() { return %s; }
            }
            """.formatted(call));
    }

    @Override public void plan(Job job, boolean on) {
        job.sources.add(on ? source : flat);
    }
}
