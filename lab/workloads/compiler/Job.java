import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import javax.annotation.processing.Processor;
import javax.tools.JavaCompiler.CompilationTask;
import javax.tools.StandardJavaFileManager;

/** A compilation: the sources of a package, and how they are to be compiled. */
final class Job {
    final List<Source> sources;
    final List<String> options = new ArrayList<>();
    final List<Processor> processors = new ArrayList<>();
    final StringWriter messages = new StringWriter();
    StandardJavaFileManager files;
    CompilationTask task;

    Job(List<Source> sources, StandardJavaFileManager files) {
        this.sources = new ArrayList<>(sources);
        this.files = files;
        options.add("-proc:none");
    }
}
