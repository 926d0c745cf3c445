import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.List;
import java.util.Map;
import java.util.Set;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerExtensionsValidatorCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallback;

/** A stand-in for Amazon MSK's check of tokens: asks the URL of the property {@code token.check}. */
public final class TokenCheck implements AuthenticateCallbackHandler {
  @Override
  public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> jaas) {}

  @Override
  public void handle(Callback[] callbacks) throws IOException, UnsupportedCallbackException {
    for (Callback callback : callbacks) {
      if (callback instanceof OAuthBearerValidatorCallback) {
        check((OAuthBearerValidatorCallback) callback);
      } else if (!(callback instanceof OAuthBearerExtensionsValidatorCallback)) {
        throw new UnsupportedCallbackException(callback);
      }
    }
  }

  private static void check(OAuthBearerValidatorCallback callback) throws IOException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(System.getProperty("token.check")))
            .POST(HttpRequest.BodyPublishers.ofString(callback.tokenValue()))
            .build();
    try {
      HttpResponse<String> answer =
          HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
      if (answer.statusCode() == 200) {
        callback.token(new Checked(callback.tokenValue(), Long.parseLong(answer.body())));
      } else {
        callback.error("invalid_token", "kafka-cluster:Connect", null);
      }
    } catch (InterruptedException interrupted) {
      throw new IOException(interrupted);
    }
  }

  @Override
  public void close() {}

  private static final class Checked implements OAuthBearerToken {
    private final String value;
    private final long end;

    Checked(String value, long end) {
      this.value = value;
      this.end = end;
    }

    @Override
    public String value() {
      return value;
    }

    @Override
    public Set<String> scope() {
      return Set.of();
    }

    @Override
    public long lifetimeMs() {
      return end;
    }

    @Override
    public String principalName() {
      return "alice";
    }

    @Override
    public Long startTimeMs() {
      return null;
    }
  }
}
