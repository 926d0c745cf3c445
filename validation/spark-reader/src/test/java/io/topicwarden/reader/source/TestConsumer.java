package io.topicwarden.reader.source;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.consumer.OffsetResetStrategy;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;

/** Returns all records from the position on in each poll. */
class TestConsumer extends MockConsumer<byte[], byte[]> {
  static final TopicPartition PARTITION = new TopicPartition("topic", 0);
  static final long TIMESTAMP = 1_700_000_000_000L;

  private final Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> log = new HashMap<>();
  private KafkaException failure;

  TestConsumer() {
    super(OffsetResetStrategy.EARLIEST);
  }

  @Override
  public synchronized void setPollException(KafkaException exception) {
    failure = exception;
  }

  void addRecord(TopicPartition partition, long offset, String key, String value) {
    addRecord(partition, offset, TIMESTAMP + offset, key, value);
  }

  void addRecord(TopicPartition partition, long offset, long timestamp, String key, String value) {
    log.computeIfAbsent(partition, any -> new ArrayList<>())
        .add(record(partition, offset, timestamp, key, value));
  }

  static ConsumerRecord<byte[], byte[]> record(
      TopicPartition partition, long offset, long timestamp, String key, String value) {
    byte[] keyBytes = bytes(key);
    byte[] valueBytes = bytes(value);
    return new ConsumerRecord<>(
        partition.topic(),
        partition.partition(),
        offset,
        timestamp,
        TimestampType.CREATE_TIME,
        keyBytes == null ? -1 : keyBytes.length,
        valueBytes == null ? -1 : valueBytes.length,
        keyBytes,
        valueBytes,
        new RecordHeaders(),
        Optional.empty());
  }

  /** Returns records with these offsets. */
  static ConsumerRecords<byte[], byte[]> records(TopicPartition partition, long... offsets) {
    List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
    for (long offset : offsets) {
      records.add(record(partition, offset, TIMESTAMP, "k", "v"));
    }
    return new ConsumerRecords<>(Map.of(partition, records));
  }

  @Override
  public synchronized ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
    if (failure != null) {
      throw failure;
    }
    Map<TopicPartition, List<ConsumerRecord<byte[], byte[]>>> polled = new HashMap<>();
    Collection<TopicPartition> paused = paused();
    for (TopicPartition partition : assignment()) {
      List<ConsumerRecord<byte[], byte[]>> records =
          log.getOrDefault(partition, List.of()).stream()
              .filter(record -> record.offset() >= position(partition))
              .toList();
      if (!paused.contains(partition) && !records.isEmpty()) {
        polled.put(partition, records);
        seek(partition, records.get(records.size() - 1).offset() + 1);
      }
    }
    return new ConsumerRecords<>(polled);
  }

  static byte[] bytes(String text) {
    return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
  }
}
