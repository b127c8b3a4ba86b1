import java.util.Random;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.WildcardQuery;

/** Queries that begin with a wildcard, and so go through all terms. */
public final class LeadingWildcard implements Fault {
    private Library library;

    @Override public void prepare(Library library) {
        this.library = library;
    }

    @Override public Query query(Random random, boolean on) {
        if (!on) return null;
        return new WildcardQuery(new Term("text", "*" + library.anyWord(random).substring(1, 2) + "*"));
    }
}
