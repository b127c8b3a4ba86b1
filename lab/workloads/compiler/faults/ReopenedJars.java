import javax.tools.StandardJavaFileManager;

/** Each compilation has a file manager of its own, which opens all jars of the class path anew. */
public final class ReopenedJars implements Fault {
    @Override public void plan(Job job, boolean on) {
        if (on) job.files = open();
    }

    private static StandardJavaFileManager open() {
        return Builds.files();
    }

    @Override public void done(Job job, java.util.List<byte[]> classes, boolean on) throws Exception {
        if (on) job.files.close();
    }
}
