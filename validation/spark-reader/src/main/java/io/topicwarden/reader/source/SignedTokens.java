package io.topicwarden.reader.source;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import javax.security.auth.callback.Callback;
import javax.security.auth.callback.UnsupportedCallbackException;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.auth.SaslExtensionsCallback;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerTokenCallback;

/**
 * Gives Kafka's login the tokens that the driver has signed: the newest that has begun.
 *
 * <p>Executors then need no AWS credentials. The option {@code tokens} of {@code sasl.jaas.config}
 * has {@code <start in seconds>:<token>}, separated by commas. Each token is valid for 15 minutes.
 */
public final class SignedTokens implements AuthenticateCallbackHandler {
  private static final long LIFETIME_MS = 900_000;

  private final TreeMap<Long, String> tokens = new TreeMap<>();

  @Override
  public void configure(
      Map<String, ?> configs, String saslMechanism, List<AppConfigurationEntry> jaasConfigEntries) {
    String series = (String) jaasConfigEntries.get(0).getOptions().get("tokens");
    for (String entry : series.split(",", -1)) {
      String[] parts = entry.split(":", 2);
      tokens.put(Long.parseLong(parts[0]) * 1000, parts[1]);
    }
  }

  @Override
  public void handle(Callback[] callbacks) throws IOException, UnsupportedCallbackException {
    for (Callback callback : callbacks) {
      if (callback instanceof OAuthBearerTokenCallback) {
        ((OAuthBearerTokenCallback) callback).token(tokenAt(System.currentTimeMillis()));
      } else if (!(callback instanceof SaslExtensionsCallback)) {
        throw new UnsupportedCallbackException(callback);
      }
    }
  }

  /**
   * Returns the newest token that has begun; the first one if the clock of this machine is behind.
   */
  OAuthBearerToken tokenAt(long now) throws IOException {
    Map.Entry<Long, String> newest = tokens.floorEntry(now);
    Map.Entry<Long, String> chosen = newest == null ? tokens.firstEntry() : newest;
    if (now >= chosen.getKey() + LIFETIME_MS) {
      throw new IOException(
          "the audit takes longer than its signed tokens last; audit fewer topics at a time, "
              + "or use --since last");
    }
    return new SignedToken(chosen.getKey(), chosen.getValue());
  }

  @Override
  public void close() {}

  /** A token and its start, in milliseconds. */
  private static final class SignedToken implements OAuthBearerToken {
    private final long start;
    private final String value;

    SignedToken(long start, String value) {
      this.start = start;
      this.value = value;
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
      return start + LIFETIME_MS;
    }

    @Override
    public String principalName() {
      return "";
    }

    @Override
    public Long startTimeMs() {
      return start;
    }
  }
}
