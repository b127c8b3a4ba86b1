import java.util.List;

/** A generated source with eight hundred raw types, of each of which javac now warns. */
public final class LintFlood implements Fault {
    private static final int LISTS = 800;
    private Source source;

    @Override public void prepare(Builds builds) {
        StringBuilder text = new StringBuilder("package generated;\nimport java.util.*;\nfinal class Lists {\n");
        for (int i = 0; i < LISTS; i++) text.append("    static List list").append(i).append("(Map map) { return (List) map.get(").append(i).append("); }\n");
        source = new Source("generated/Lists.java", text.append("}\n").toString());
    }

    @Override public void plan(Job job, boolean on) {
        job.sources.add(source);
        if (on) job.options.addAll(List.of("-Xlint:all", "-Xmaxwarns", "100000"));
    }
}
