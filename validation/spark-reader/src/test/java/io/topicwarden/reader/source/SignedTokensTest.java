package io.topicwarden.reader.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.IOException;
import java.util.List;
import java.util.Map;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerToken;
import org.apache.kafka.common.security.oauthbearer.OAuthBearerTokenCallback;
import org.junit.jupiter.api.Test;

class SignedTokensTest {
  private static SignedTokens tokens(String series) {
    SignedTokens tokens = new SignedTokens();
    AppConfigurationEntry entry =
        new AppConfigurationEntry(
            "module",
            AppConfigurationEntry.LoginModuleControlFlag.REQUIRED,
            Map.of("tokens", series));
    tokens.configure(Map.of(), "OAUTHBEARER", List.of(entry));
    return tokens;
  }

  @Test
  void givesTheNewestTokenThatHasBegun() throws IOException {
    SignedTokens tokens = tokens("1000:a,1600:b,2200:c");
    assertEquals("a", tokens.tokenAt(1_000_000).value());
    assertEquals("a", tokens.tokenAt(1_599_999).value());
    OAuthBearerToken second = tokens.tokenAt(1_600_000);
    assertEquals("b", second.value());
    assertEquals(1_600_000, second.startTimeMs());
    assertEquals(2_500_000, second.lifetimeMs());
  }

  @Test
  void givesTheFirstTokenIfTheClockIsBehind() throws IOException {
    assertEquals("a", tokens("1000:a,1600:b").tokenAt(990_000).value());
  }

  @Test
  void refusesAfterTheLastToken() throws IOException {
    SignedTokens tokens = tokens("1000:a");
    assertEquals("a", tokens.tokenAt(1_899_999).value());
    assertThrows(IOException.class, () -> tokens.tokenAt(1_900_000));
  }

  @Test
  void answersTheLogin() throws Exception {
    long now = System.currentTimeMillis() / 1000;
    OAuthBearerTokenCallback callback = new OAuthBearerTokenCallback();
    tokens(now + ":a").handle(new OAuthBearerTokenCallback[] {callback});
    assertEquals("a", callback.token().value());
  }
}
