package io.topicwarden.reader.counting;

import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;

/** Records and rules for tests. */
final class Records {
  static final CountingRules.PartitionRules NO_RULES = rules(0, 0, Long.MIN_VALUE, Long.MAX_VALUE);

  private Records() {}

  static CountingRules.PartitionRules rules(
      long rolledBefore, long cleanableBefore, long expiredBefore, long futureOffset) {
    return new CountingRules.PartitionRules(
        true, rolledBefore, cleanableBefore, expiredBefore, futureOffset, Map.of());
  }

  static ConsumerRecord<byte[], byte[]> record(
      long offset, long timestamp, String key, String value) {
    return new ConsumerRecord<>(
        "topic",
        0,
        offset,
        timestamp,
        TimestampType.CREATE_TIME,
        -1,
        -1,
        bytes(key),
        bytes(value),
        new RecordHeaders(),
        Optional.empty());
  }

  static byte[] bytes(String text) {
    return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
  }

  static int size(ConsumerRecord<byte[], byte[]> record) {
    return (record.key() == null ? 0 : record.key().length)
        + (record.value() == null ? 0 : record.value().length);
  }
}
