/** No fault: an operation leaves 100 KB that die at once, all the time or from a moment on. */
public final class Garbage implements Fault {
    static volatile byte[] last;

    @Override public void duringOperation(int worker, boolean active) {
        if (active) for (int i = 0; i < 25; i++) last = new byte[4000];
    }
}
