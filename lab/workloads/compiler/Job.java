import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import javax.annotation.processing.Processor;
import javax.tools.JavaCompiler.CompilationTask;
import javax.tools.StandardJavaFileManager;

/** A compilation: what is compiled, and how. */
final class Job {
    final List<Source> sources = new ArrayList<>();
    final List<String> options = new ArrayList<>();
    final List<Processor> processors = new ArrayList<>();
    final StringWriter messages = new StringWriter();
    StandardJavaFileManager files;
    CompilationTask task;

    Job(Source source, StandardJavaFileManager files) {
        sources.add(source);
        this.files = files;
        options.add("-proc:none");
    }
}
