/** No fault: an exception for each operation, which costs some microseconds. */
public final class RareException implements Fault {
    private int thrown;

    @Override public void duringOperation(int worker, boolean active) {
        try {
            if (active) throw new IllegalStateException("rare");
        } catch (IllegalStateException rare) {
            thrown++;
        }
    }
}
