package io.topicwarden.reader.source;

import java.net.Socket;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.util.Map;
import java.util.Set;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.security.auth.SslEngineFactory;
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory;

/**
 * TLS that accepts every certificate of a broker, for {@code kafka:skipTlsVerify}: the consumer can
 * only turn the check of host names off ({@code ssl.endpoint.identification.algorithm}).
 */
public final class TrustingSslEngineFactory implements SslEngineFactory {
  private final DefaultSslEngineFactory verifying = new DefaultSslEngineFactory();
  private SSLContext context;

  @Override
  public void configure(Map<String, ?> configs) {
    verifying.configure(configs);
    try {
      context = SSLContext.getInstance("TLS");
      context.init(keyManagers(verifying.keystore()), new TrustManager[] {new TrustAll()}, null);
    } catch (GeneralSecurityException e) {
      throw new KafkaException(e);
    }
  }

  private static KeyManager[] keyManagers(KeyStore keystore) throws GeneralSecurityException {
    if (keystore == null) {
      return null;
    }
    KeyManagerFactory factory =
        KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    factory.init(keystore, null);
    return factory.getKeyManagers();
  }

  @Override
  public SSLEngine createClientSslEngine(
      String peerHost, int peerPort, String endpointIdentification) {
    SSLEngine engine = context.createSSLEngine(peerHost, peerPort);
    engine.setUseClientMode(true);
    return engine;
  }

  @Override
  public SSLEngine createServerSslEngine(String peerHost, int peerPort) {
    throw new UnsupportedOperationException("only for clients");
  }

  @Override
  public boolean shouldBeRebuilt(Map<String, Object> nextConfigs) {
    return false;
  }

  @Override
  public Set<String> reconfigurableConfigs() {
    return Set.of();
  }

  @Override
  public KeyStore keystore() {
    return verifying.keystore();
  }

  @Override
  public KeyStore truststore() {
    return null;
  }

  @Override
  public void close() {
    verifying.close();
  }

  /** An extended trust manager, because the JDK checks host names on top of the other kind. */
  private static final class TrustAll extends X509ExtendedTrustManager {
    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, Socket socket) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, SSLEngine engine) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, Socket socket) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, SSLEngine engine) {}

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
