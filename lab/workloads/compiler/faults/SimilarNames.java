import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import javax.annotation.processing.AbstractProcessor;
import javax.annotation.processing.RoundEnvironment;
import javax.lang.model.SourceVersion;
import javax.lang.model.element.Element;
import javax.lang.model.element.TypeElement;

/** An annotation processor that compares the name of each member with those of all others. */
public final class SimilarNames implements Fault {
    private static final int NAMES = 150;

    @Override public void plan(Job job, boolean on) {
        if (!on) return;
        job.options.remove("-proc:none");
        job.processors.add(new Checker());
    }

    /** Looks for names that are nearly the same. */
    static final class Checker extends AbstractProcessor {
        private final List<String> names = new ArrayList<>();

        @Override public Set<String> getSupportedAnnotationTypes() {
            return Set.of("*");
        }

        @Override public SourceVersion getSupportedSourceVersion() {
            return SourceVersion.latest();
        }

        @Override public boolean process(Set<? extends TypeElement> annotations, RoundEnvironment round) {
            for (Element type : round.getRootElements()) {
                for (Element member : type.getEnclosedElements()) names.add(member.toString());
            }
            int similar = 0;
            List<String> some = names.subList(0, Math.min(NAMES, names.size()));
            for (String one : some) for (String other : some) if (distance(one, other) == 1) similar++;
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
