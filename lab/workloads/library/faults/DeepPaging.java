/** The 3000th page is asked for, and everything before it read. */
public final class DeepPaging implements Fault {
    @Override public int hits(boolean on) {
        return on ? 1500 : 10;
    }
}
