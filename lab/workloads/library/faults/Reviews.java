import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Map;
import java.util.Random;

/** Each request asks the peer for reviews over HTTP; what goes wrong, goes wrong there. */
public abstract class Reviews implements Fault {
    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private HttpRequest request;

    @Override public void prepare(Library library) {
        request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + library.peer + "/")).build();
    }

    @Override public void answer(Map<String, Object> reply, Random random, boolean on) throws Exception {
        reply.put("reviews", reviews());
    }

    private String reviews() throws Exception {
        return client.send(request, HttpResponse.BodyHandlers.ofString()).body();
    }
}
