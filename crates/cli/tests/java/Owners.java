/**
 * A thread that wants a lock again and again which a new thread holds each time: threads that
 * come one after the other get the same stack. Says whom it waited for, in order. The
 * argument: how often.
 */
public class Owners {
    static final class Turn {
        volatile boolean held;
    }

    public static void main(String[] args) throws Exception {
        System.out.println("ready");
        System.in.read();
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            Turn turn = new Turn();
            Thread owner = new Thread(() -> hold(turn), "owner-" + i);
            owner.start();
            while (!turn.held) {
                Thread.sleep(1);
            }
            synchronized (turn) {
                System.out.println("waited for owner-" + i);
            }
            owner.join();
        }
        System.out.println("done");
        Thread.sleep(120_000);
    }

    static void hold(Turn turn) {
        synchronized (turn) {
            turn.held = true;
            try {
                Thread.sleep(25);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
