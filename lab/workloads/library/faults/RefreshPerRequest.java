import java.util.Map;
import java.util.Random;

/** Each request changes a book and opens the index anew to see it. */
public final class RefreshPerRequest implements Fault {
    private Library library;

    @Override public void prepare(Library library) {
        this.library = library;
    }

    @Override public void answer(Map<String, Object> reply, Random random, boolean on) throws Exception {
        if (on) refresh(random);
    }

    private void refresh(Random random) throws Exception {
        library.replaceBook(random);
        library.searchers.maybeRefreshBlocking();
    }
}
