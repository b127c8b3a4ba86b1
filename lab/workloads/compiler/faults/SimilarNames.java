import java.util.List;
import java.util.Set;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import javax.annotation.processing.AbstractProcessor;
import javax.annotation.processing.RoundEnvironment;
import javax.lang.model.SourceVersion;
import javax.lang.model.element.Element;
import javax.lang.model.element.TypeElement;

/** An annotation processor that compares the name of each member with all of the library. */
public final class SimilarNames implements Fault {
    private List<String> known;

    @Override public void prepare(Builds builds) {
        Pattern word = Pattern.compile("[A-Za-z]\\w+");
        known = builds.sources.stream().flatMap(source -> word.matcher(source.text).results()).map(MatchResult::group).distinct().toList();
    }

    @Override public void plan(Job job, boolean on) {
        if (!on) return;
        job.options.remove("-proc:none");
        job.processors.add(new Checker(known));
    }

    /** Looks for names that are nearly the same. */
    static final class Checker extends AbstractProcessor {
        private final List<String> known;

        Checker(List<String> known) {
            this.known = known;
        }

        @Override public Set<String> getSupportedAnnotationTypes() {
            return Set.of("*");
        }

        @Override public SourceVersion getSupportedSourceVersion() {
            return SourceVersion.latest();
        }

        @Override public boolean process(Set<? extends TypeElement> annotations, RoundEnvironment round) {
            int similar = 0;
            for (Element type : round.getRootElements()) {
                for (Element member : type.getEnclosedElements()) {
                    String name = member.toString();
                    for (String other : known) if (distance(name, other) == 1) similar++;
                }
            }
            return similar < 0;
        }

        static int distance(String one, String other) {
            int[] row = new int[other.length() + 1];
            for (int j = 0; j < row.length; j++) row[j] = j;
            for (int i = 1; i <= one.length(); i++) {
                int corner = row[0];
                row[0] = i;
                for (int j = 1; j < row.length; j++) {
                    int change = corner + (one.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
                    corner = row[j];
                    row[j] = Math.min(change, 1 + Math.min(row[j], row[j - 1]));
                }
            }
            return row[other.length()];
        }
    }
}
