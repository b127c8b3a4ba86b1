import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** The peer is busy, and the service sleeps before it asks again. */
public final class Backoff implements Fault {
    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private HttpRequest request;

    @Override public void prepare(Desk desk) {
        request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + desk.peer + "/")).build();
    }

    @Override public void answer(StringBuilder reply, int customer, boolean on) throws Exception {
        for (int tries = 0, pause = 10; tries < 3; tries++, pause *= 2) {
            if (client.send(request, HttpResponse.BodyHandlers.ofString()).statusCode() == 200) return;
            pause(pause);
        }
    }

    private void pause(int millis) throws Exception {
        Thread.sleep(millis);
    }
}
