/** Exceptions thrown from deep stacks as control flow. */
public final class Validation implements Fault {
    @Override public void answer(StringBuilder reply, int customer, boolean on) {
        int bad = 0;
        for (int i = 0; i < (on ? 60 : 0); i++) {
            try {
                validate(300, "x" + i);
            } catch (NumberFormatException none) {
                bad++;
            }
        }
        reply.append(bad);
    }

    private int validate(int depth, String text) {
        return depth == 0 ? Integer.parseInt(text) : validate(depth - 1, text) + 1;
    }
}
