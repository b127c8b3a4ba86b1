import java.util.Random;

/** No fault: some books a second are replaced, and searches see them two seconds later. */
public final class SomeUpdates implements Fault {
    private Library library;

    @Override public void prepare(Library all) {
        library = all;
    }

    @Override public void changed(boolean on) {
        if (!on) return;
        Faults.daemon("updates", () -> {
            Random random = new Random(5);
            for (int i = 1; Switch.on(); i++) {
                library.replaceBook(random);
                if (i % 10 == 0) library.searchers.maybeRefresh();
                Thread.sleep(200);
            }
        });
    }
}
