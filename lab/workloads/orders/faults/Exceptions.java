/** Exceptions from deep stacks as control flow. */
public final class Exceptions implements Fault {
    private int failures;

    public void duringOperation(int worker, boolean active) {
        for (int i = 0; i < (active ? 60 : 0); i++) {
            try {
                validate(150);
            } catch (IllegalStateException bad) {
                failures++;
            }
        }
    }

    private int validate(int depth) {
        if (depth == 0) throw new IllegalStateException("bad");
        return validate(depth - 1) + 1;
    }
}
