import java.util.Map;
import java.util.Random;
import org.apache.lucene.search.Query;

/** What may go wrong in the library. */
interface Fault {
    /** Before the first request. */
    default void prepare(Library library) throws Exception {}

    /** Once when the fault begins, and once when it ends. */
    default void changed(boolean on) throws Exception {}

    /** The query that a request makes instead of the usual one, or null. */
    default Query query(Random random, boolean on) {
        return null;
    }

    /** How many hits a query asks for. */
    default int hits(boolean on) {
        return 10;
    }

    /** In every request, whether the fault is on or not. */
    default void answer(Map<String, Object> reply, Random random, boolean on) throws Exception {}
}
