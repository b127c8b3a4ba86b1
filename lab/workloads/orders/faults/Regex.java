import java.util.regex.Pattern;

/** A pattern that goes back and forth over an input that it nearly fits. */
public final class Regex implements Fault {
    private static final Pattern PATTERN = Pattern.compile("(.*a){6}b");

    public void duringOperation(int worker, boolean active) {
        checkName(active ? "aaaaaaaaaaaaaaaaaaaaaac" : "aaaaaab");
    }

    private boolean checkName(String name) {
        return PATTERN.matcher(name).matches();
    }
}
