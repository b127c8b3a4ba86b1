import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * A build service: compiles a class of a library by javac for each request:
 * {@code Builds PORT PEER FAULT}.
 */
public final class Builds {
    static final JavaCompiler JAVAC = ToolProvider.getSystemJavaCompiler();
    private static final List<String> PACKAGES = Stream.of("arch", "compare", "event", "mutable", "tuple", "util")
        .map("org/apache/commons/lang3/"::concat).toList();
    private static final int WARM_BUILDS = 300;
    private static final ThreadLocal<StandardJavaFileManager> FILES = ThreadLocal.withInitial(Builds::files);
    private List<Fault> faults = List.of();
    final List<Source> sources = new ArrayList<>();
    final int peer;

    private Builds(int peer, List<Fault> faults) throws Exception {
        this.peer = peer;
        readSources();
        for (Fault fault : faults) fault.prepare(this);
        for (int i = 0; !Boolean.getBoolean("lab.cold") && i < WARM_BUILDS; i++) build();
        this.faults = faults;
    }

    private static List<File> path() {
        return List.of(System.getProperty("java.class.path").split(":")).stream().map(File::new).toList();
    }

    /** The class path of each compilation: the jars of the service itself. */
    static List<File> libraries() {
        return path().stream().filter(file -> file.getName().endsWith(".jar") && !file.getName().endsWith("-sources.jar")).toList();
    }

    static StandardJavaFileManager files() {
        try {
            StandardJavaFileManager files = JAVAC.getStandardFileManager(null, null, StandardCharsets.UTF_8);
            files.setLocation(javax.tools.StandardLocation.CLASS_PATH, libraries());
            return files;
        } catch (IOException failed) {
            throw new java.io.UncheckedIOException(failed);
        }
    }

    /** A folder for what a fault writes. */
    static Path folder(String name) throws IOException {
        return java.nio.file.Files.createDirectories(Path.of(System.getProperty("java.io.tmpdir"), "index", name));
    }

    private void readSources() throws IOException {
        File jar = path().stream().filter(file -> file.getName().endsWith("-sources.jar")).findFirst().orElseThrow();
        try (ZipFile zip = new ZipFile(jar)) {
            for (ZipEntry entry : java.util.Collections.list(zip.entries())) {
                String name = entry.getName();
                int end = name.lastIndexOf('/');
                if (!name.endsWith(".java") || !PACKAGES.contains(name.substring(0, Math.max(0, end)))) continue;
                String text = new String(zip.getInputStream(entry).readAllBytes(), StandardCharsets.UTF_8);
                sources.add(new Source(name, text));
            }
        }
    }

    private Source anySource() {
        return sources.get(ThreadLocalRandom.current().nextInt(sources.size()));
    }

    private String build() throws Exception {
        boolean on = Switch.on();
        Job job = new Job(anySource(), FILES.get());
        for (Fault fault : faults) fault.plan(job, on);
        Outputs outputs = new Outputs(job.files);
        Callable<Boolean> compilation = () -> compile(job, outputs);
        for (Fault fault : faults) {
            Callable<Boolean> inner = compilation;
            compilation = () -> fault.around(job, inner, on);
        }
        boolean good = compilation.call();
        List<byte[]> classes = outputs.classes();
        for (Fault fault : faults) fault.done(job, classes, on);
        if (!good) throw new IllegalStateException(job.messages.toString());
        return classes.size() + " classes, " + job.messages.getBuffer().length() + " characters of messages";
    }

    private static boolean compile(Job job, Outputs outputs) {
        job.task = JAVAC.getTask(job.messages, outputs, null, job.options, null, job.sources);
        if (!job.processors.isEmpty()) job.task.setProcessors(job.processors);
        return job.task.call();
    }

    private void handle(HttpExchange exchange) throws IOException {
        try (exchange) {
            byte[] bytes = build().getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, bytes.length);
            exchange.getResponseBody().write(bytes);
        } catch (Exception failed) {
            failed.printStackTrace();
        }
    }

    public static void main(String[] args) throws Exception {
        List<Fault> faults = Faults.named(args[2], Fault.class);
        Builds builds = new Builds(Integer.parseInt(args[1]), faults);
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 200);
        AtomicInteger number = new AtomicInteger();
        server.setExecutor(Executors.newFixedThreadPool(8, task -> new Thread(task, "builder-" + number.incrementAndGet())));
        server.createContext("/", builds::handle);
        server.start();
        Switch.follow(on -> {
            for (Fault fault : faults) fault.changed(on);
        });
    }
}
