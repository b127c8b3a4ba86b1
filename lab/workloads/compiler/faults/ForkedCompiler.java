import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;

/** Each compilation is done by a javac of its own, in a new process. */
public final class ForkedCompiler implements Fault {
    @Override public Boolean around(Job job, Callable<Boolean> compilation, boolean on) throws Exception {
        return on ? fork(job) : compilation.call();
    }

    private static boolean fork(Job job) throws Exception {
        Path folder = Builds.folder(Thread.currentThread().getName());
        List<String> command = new ArrayList<>(List.of(System.getProperty("java.home") + "/bin/javac", "-proc:none", "-d", folder.toString(),
            "-cp", String.join(":", Builds.libraries().stream().map(Object::toString).toList())));
        for (Source source : job.sources) {
            Path file = folder.resolve("sources").resolve(source.name);
            Files.createDirectories(file.getParent());
            command.add(Files.writeString(file, source.text).toString());
        }
        return new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start().waitFor() == 0;
    }
}
