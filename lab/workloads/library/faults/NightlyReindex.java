import java.util.Random;

/** A thread that changes many books and merges the index into one piece, again and again. */
public final class NightlyReindex implements Fault {
    private Library library;

    @Override public void prepare(Library library) {
        this.library = library;
    }

    @Override public void changed(boolean on) {
        for (int i = 0; on && i < 3; i++) {
            Random random = new Random(i);
            Faults.daemon("nightly-index-" + i, () -> {
                while (Switch.on()) reindex(random);
            });
        }
    }

    private void reindex(Random random) throws Exception {
        for (int i = 0; i < 400; i++) library.replaceBook(random);
        library.writer.commit();
        library.writer.forceMerge(1);
    }
}
