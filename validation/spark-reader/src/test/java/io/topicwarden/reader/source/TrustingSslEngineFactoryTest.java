package io.topicwarden.reader.source;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import javax.net.ssl.SSLEngine;
import org.junit.jupiter.api.Test;

/** Handshakes with real brokers are in {@code tests/broker/connections/test_authentication.py}. */
class TrustingSslEngineFactoryTest {
  @Test
  void makesClientsThatCheckNoHostName() {
    try (TrustingSslEngineFactory factory = new TrustingSslEngineFactory()) {
      factory.configure(Map.of("ssl.protocol", "TLSv1.3"));
      SSLEngine engine = factory.createClientSslEngine("other.example.com", 9093, "https");
      assertTrue(engine.getUseClientMode());
      assertNull(engine.getSSLParameters().getEndpointIdentificationAlgorithm());
      assertFalse(factory.shouldBeRebuilt(Map.of("ssl.protocol", "TLSv1.2")));
      assertNull(factory.truststore());
    }
  }

  @Test
  void isForClientsOnly() {
    try (TrustingSslEngineFactory factory = new TrustingSslEngineFactory()) {
      assertThrows(
          UnsupportedOperationException.class, () -> factory.createServerSslEngine("a", 9093));
    }
  }
}
