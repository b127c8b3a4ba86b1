/** No fault: 24 more threads that do a little every few milliseconds. */
public final class Mailers implements Fault {
    static volatile Object last;

    @Override public void changed(boolean on) {
        for (int i = 0; on && i < 24; i++) {
            Faults.daemon("mailer-" + i, () -> {
                while (Switch.on()) {
                    Thread.sleep(40);
                    last = Library.JSON.readTree("{\"mail\":1}");
                }
            });
        }
    }
}
