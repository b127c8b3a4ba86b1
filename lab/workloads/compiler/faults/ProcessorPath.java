import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * An annotation processor of two hundred rules on a path of its own: javac loads it in a new class
 * loader for each compilation, so that it is never compiled itself.
 */
public final class ProcessorPath implements Fault {
    private static final int RULES = 200;
    private Path path;

    @Override public void prepare(Builds builds) throws Exception {
        path = Builds.folder("naming");
        StringBuilder rules = new StringBuilder();
        for (int i = 0; i < RULES; i++) {
            rules.append("final class Rule").append(i).append(" { static int check(String name) { int bad = ").append(i)
                .append("; for (int k = 0; k < name.length(); k++) { char c = name.charAt(k); if (c == '_' || c == ")
                .append(97 + i % 26).append(") bad += k; bad = bad * 31 ^ c; } return bad; } }\n");
        }
        StringBuilder calls = new StringBuilder();
        for (int i = 0; i < RULES; i++) calls.append("bad += Rule").append(i).append(".check(name); ");
        String processor = """
            import java.util.*;
            import javax.annotation.processing.*;
            import javax.lang.model.SourceVersion;
            import javax.lang.model.element.*;
            public final class NamingRules extends AbstractProcessor {
                @Override public Set<String> getSupportedAnnotationTypes() { return Set.of("*"); }
                @Override public SourceVersion getSupportedSourceVersion() { return SourceVersion.latest(); }
                @Override public boolean process(Set<? extends TypeElement> annotations, RoundEnvironment round) {
                    int bad = 0;
                    for (Element type : round.getRootElements())
                        for (Element member : type.getEnclosedElements()) bad += check(member.toString());
                    return bad == 7;
                }
                static int check(String name) { int bad = 0; %s return bad; }
            }
            """.formatted(calls);
        Path source = path.resolve("NamingRules.java");
        Files.writeString(source, processor + rules);
        Builds.JAVAC.run(null, null, null, "-proc:none", "-d", path.toString(), source.toString());
    }

    @Override public void plan(Job job, boolean on) {
        if (!on) return;
        job.options.remove("-proc:none");
        job.options.addAll(List.of("-processorpath", path.toString(), "-processor", "NamingRules"));
    }
}
