import java.util.List;

/** A generated source with a thousand raw types, of each of which javac now warns. */
public final class LintFlood implements Fault {
    private static final int METHODS = 125;
    private Source source;

    @Override public void prepare(Builds builds) {
        StringBuilder text = new StringBuilder("package generated;\nimport java.util.*;\nabstract class Lists {\n");
        for (int i = 0; i < METHODS; i++) text.append("    abstract List list").append(i).append("(List a, Map b, Set c, List d, Map e, Set f, List g);\n");
        source = new Source("generated/Lists.java", text.append("}\n").toString());
    }

    @Override public void plan(Job job, boolean on) {
        job.sources.add(source);
        if (on) job.options.addAll(List.of("-Xlint:all", "-Xmaxwarns", "100000"));
    }
}
