/** Arrays that are larger than half a region. */
public final class Humongous implements Fault {
    static volatile byte[] last;

    public void duringOperation(int worker, boolean active) {
        if (active) for (int i = 0; i < 2; i++) last = new byte[3_000_000];
    }
}
