import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ThreadLocalRandom;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.SearcherManager;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.FSDirectory;
import org.eclipse.jetty.io.Content;
import org.eclipse.jetty.server.Handler;
import org.eclipse.jetty.server.Request;
import org.eclipse.jetty.server.Response;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.util.Callback;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/**
 * A library's catalogue: searches in Lucene, answered as JSON by Jetty:
 * {@code Library PORT PEER FAULT}.
 */
public final class Library {
    static final int BOOKS = 20_000, EXPORT_BYTES = 8_000_000, THREADS = 20;
    static final ObjectMapper JSON = new ObjectMapper();
    private final String[] words = new String[4000];
    private final List<Fault> faults;
    final int peer;
    final IndexWriter writer;
    final SearcherManager searchers;

    private Library(int peer, List<Fault> faults) throws Exception {
        this.peer = peer;
        this.faults = faults;
        Random random = new Random(7);
        for (int i = 0; i < words.length; i++) words[i] = word(random);
        Path index = Path.of(System.getProperty("java.io.tmpdir"), "index");
        writer = new IndexWriter(FSDirectory.open(index), new IndexWriterConfig(new StandardAnalyzer()));
        for (int i = 0; i < BOOKS; i++) writer.addDocument(book(random, i));
        writer.commit();
        searchers = new SearcherManager(writer, null);
        for (Fault fault : faults) fault.prepare(this);
    }

    private static String word(Random random) {
        StringBuilder word = new StringBuilder();
        for (int letters = 4 + random.nextInt(5); letters > 0; letters--) word.append((char) ('a' + random.nextInt(20)));
        return word.toString();
    }

    String anyWord(Random random) {
        return words[random.nextInt(words.length)];
    }

    /** A book whose text has frequent words and rare ones. */
    Document book(Random random, int id) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 30; i++) text.append(words[(int) (Math.pow(random.nextDouble(), 2) * words.length)]).append(' ');
        Document book = new Document();
        book.add(new TextField("text", text.toString(), Field.Store.YES));
        book.add(new StringField("id", "" + id, Field.Store.YES));
        return book;
    }

    void replaceBook(Random random) throws Exception {
        int id = random.nextInt(BOOKS);
        writer.updateDocument(new Term("id", "" + id), book(random, id));
    }

    private byte[] search() throws Exception {
        Random random = ThreadLocalRandom.current();
        boolean on = Switch.on();
        Map<String, Object> reply = new LinkedHashMap<>();
        reply.put("found", found(random, on));
        for (Fault fault : faults) fault.answer(reply, random, on);
        return JSON.writeValueAsBytes(reply);
    }

    private List<String> found(Random random, boolean on) throws Exception {
        Query query = new TermQuery(new Term("text", anyWord(random)));
        int hits = 10;
        for (Fault fault : faults) {
            Query other = fault.query(random, on);
            query = other == null ? query : other;
            hits = Math.max(hits, fault.hits(on));
        }
        IndexSearcher searcher = searchers.acquire();
        try {
            List<String> found = new ArrayList<>();
            ScoreDoc[] top = searcher.search(query, hits).scoreDocs;
            for (ScoreDoc hit : top) found.add(searcher.storedFields().document(hit.doc).get("text"));
            return found.subList(Math.max(0, found.size() - 10), found.size());
        } finally {
            searchers.release(searcher);
        }
    }

    private final class Answers extends Handler.Abstract {
        @Override public boolean handle(Request request, Response response, Callback done) throws Exception {
            if (request.getHttpURI().getPath().equals("/export")) {
                try (OutputStream out = Content.Sink.asOutputStream(response)) {
                    out.write(new byte[EXPORT_BYTES]);
                }
                done.succeeded();
            } else {
                response.getHeaders().put("Content-Type", "application/json");
                response.write(true, ByteBuffer.wrap(search()), done);
            }
            return true;
        }
    }

    public static void main(String[] args) throws Exception {
        List<Fault> faults = Faults.named(args[2], Fault.class);
        Library library = new Library(Integer.parseInt(args[1]), faults);
        QueuedThreadPool pool = new QueuedThreadPool(THREADS, 8);
        pool.setName("web");
        Server server = new Server(pool);
        ServerConnector connector = new ServerConnector(server, 1, 1);
        connector.setHost("127.0.0.1");
        connector.setPort(Integer.parseInt(args[0]));
        server.addConnector(connector);
        server.setHandler(library.new Answers());
        server.start();
        Switch.follow(on -> {
            for (Fault fault : faults) fault.changed(on);
        });
    }
}
