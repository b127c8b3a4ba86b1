import java.util.Map;
import java.util.Random;

/** Each request changes a book and commits the index, which forces files to disk. */
public final class CommitPerRequest implements Fault {
    private Library library;

    @Override public void prepare(Library library) {
        this.library = library;
    }

    @Override public void answer(Map<String, Object> reply, Random random, boolean on) throws Exception {
        if (on) save(random);
    }

    private void save(Random random) throws Exception {
        library.replaceBook(random);
        library.writer.commit();
    }
}
