import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.stream.Collectors;
import org.apache.kafka.common.Endpoint;
import org.apache.kafka.common.acl.AclBinding;
import org.apache.kafka.common.acl.AclBindingFilter;
import org.apache.kafka.server.authorizer.AclCreateResult;
import org.apache.kafka.server.authorizer.AclDeleteResult;
import org.apache.kafka.server.authorizer.Action;
import org.apache.kafka.server.authorizer.AuthorizableRequestContext;
import org.apache.kafka.server.authorizer.AuthorizationResult;
import org.apache.kafka.server.authorizer.Authorizer;
import org.apache.kafka.server.authorizer.AuthorizerServerInfo;

/** Whether somebody may is asked of a server, for each request of a client's. */
public final class SlowAuthorizer implements Authorizer {
    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    private HttpRequest request;

    @Override public void configure(Map<String, ?> settings) {
        request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + settings.get("peer.port") + "/")).build();
    }

    @Override public Map<Endpoint, ? extends CompletionStage<Void>> start(AuthorizerServerInfo server) {
        return server.endpoints().stream().collect(Collectors.toMap(e -> e, e -> CompletableFuture.completedStage(null)));
    }

    @Override public List<AuthorizationResult> authorize(AuthorizableRequestContext context, List<Action> actions) {
        if (context.listenerName().equals("PLAINTEXT")) ask();
        return Collections.nCopies(actions.size(), AuthorizationResult.ALLOWED);
    }

    private void ask() {
        try {
            client.send(request, HttpResponse.BodyHandlers.ofString());
        } catch (java.io.IOException | InterruptedException failed) {
            throw new IllegalStateException(failed);
        }
    }

    @Override public List<? extends CompletionStage<AclCreateResult>> createAcls(AuthorizableRequestContext c, List<AclBinding> b) {
        return List.of();
    }

    @Override public List<? extends CompletionStage<AclDeleteResult>> deleteAcls(AuthorizableRequestContext c, List<AclBindingFilter> f) {
        return List.of();
    }

    @Override public Iterable<AclBinding> acls(AclBindingFilter filter) {
        return List.of();
    }

    @Override public void close() {}
}
