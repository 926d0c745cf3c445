package io.topicwarden.reader.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.Map;
import org.junit.jupiter.api.Test;

class ConsumerSettingsTest {
  private static final String JAAS =
      "org.apache.kafka.common.security.plain.PlainLoginModule required password=\"p\";";

  @Test
  void takesTheOptionsOfKafka() {
    Map<String, Object> settings =
        ConsumerSettings.from(
            Map.of("kafka.bootstrap.servers", "a:9092", "rate", "5", "tasks", "0:t:0:0:1"));
    assertEquals("a:9092", settings.get("bootstrap.servers"));
    assertFalse(settings.containsKey("rate"));
    assertFalse(settings.containsKey("tasks"));
  }

  @Test
  void anAuditNeverCommitsAndNeverSkipsToTheEnd() {
    Map<String, Object> settings =
        ConsumerSettings.from(
            Map.of("kafka.enable.auto.commit", "true", "kafka.auto.offset.reset", "latest"));
    assertEquals("false", settings.get("enable.auto.commit"));
    assertEquals("earliest", settings.get("auto.offset.reset"));
  }

  /** Kafka's package is not relocated here; tests on a broker with SASL use the shaded jar. */
  @Test
  void keepsTheNamesOfClassesOutsideOfTheShadedJar() {
    Map<String, Object> settings =
        ConsumerSettings.from(Map.of("kafka.sasl.jaas.config", JAAS, "kafka.client.id", "x"));
    assertEquals(JAAS, settings.get("sasl.jaas.config"));
    assertEquals("x", settings.get("client.id"));
  }
}
