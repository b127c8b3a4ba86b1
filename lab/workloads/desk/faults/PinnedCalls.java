/**
 * Each request waits 20 ms for a partner; then it does so in a synchronized block of its own,
 * which keeps a virtual thread's carrier before JDK 24.
 */
public final class PinnedCalls implements Fault {
    @Override public void answer(StringBuilder reply, int customer, boolean on) throws Exception {
        if (!on) {
            askPartner();
            return;
        }
        synchronized (new Object()) {
            askPartner();
        }
    }

    private static void askPartner() throws Exception {
        Thread.sleep(20);
    }
}
