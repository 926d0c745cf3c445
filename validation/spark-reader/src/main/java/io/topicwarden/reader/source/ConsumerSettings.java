package io.topicwarden.reader.source;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.config.internals.BrokerSecurityConfigs;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** The settings of the Kafka consumer, from the options of the source. */
final class ConsumerSettings {
  private static final String PREFIX = "kafka.";

  // Not a literal, which the build of the shaded jar would relocate as well.
  private static final String KAFKA = String.join(".", "org", "apache", "kafka", "");
  private static final String ACTUAL_KAFKA =
      SaslConfigs.class.getPackageName().replaceFirst("common\\.config$", "");

  private ConsumerSettings() {}

  /** Returns the options that begin with {@code kafka.}, and what every reader needs. */
  static Map<String, Object> from(Map<String, String> options) {
    Map<String, Object> settings = new HashMap<>();
    options.forEach(
        (name, value) -> {
          if (name.startsWith(PREFIX)) {
            settings.put(name.substring(PREFIX.length()), withActualPackage(value));
          }
        });
    allowTokenEndpoint((String) settings.get(SaslConfigs.SASL_OAUTHBEARER_TOKEN_ENDPOINT_URL));
    settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
    settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
    settings.put("enable.auto.commit", "false");
    settings.put("auto.offset.reset", "earliest"); // continue after records that retention deleted
    return settings;
  }

  /**
   * Allows the token endpoint of {@code OAUTHBEARER} in this JVM: Kafka's clients refuse every URL
   * that this system property does not list (CVE-2025-27817).
   */
  private static synchronized void allowTokenEndpoint(String url) {
    String property = BrokerSecurityConfigs.ALLOWED_SASL_OAUTHBEARER_URLS_CONFIG;
    List<String> allowed = new ArrayList<>(List.of(System.getProperty(property, "").split(",")));
    if (url != null && !allowed.contains(url)) {
      allowed.add(url);
      allowed.remove("");
      System.setProperty(property, String.join(",", allowed));
    }
  }

  /**
   * Replaces the package of a value that begins with the name of a class of Kafka, for example a
   * login module in {@code sasl.jaas.config}: the shaded jar relocates these classes.
   */
  private static String withActualPackage(String value) {
    return value.startsWith(KAFKA) ? ACTUAL_KAFKA + value.substring(KAFKA.length()) : value;
  }
}
