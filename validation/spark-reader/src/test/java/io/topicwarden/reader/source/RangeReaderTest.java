package io.topicwarden.reader.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.topicwarden.reader.Json;
import io.topicwarden.reader.codecs.Contracts;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.Test;

class RangeReaderTest {
  private static final List<OffsetRange> RANGES =
      List.of(new OffsetRange(0, TestConsumer.PARTITION, 0, 10));

  private TestConsumer consumer;
  private long clock;

  /** Collects offsets and summaries. */
  private final class Reader extends RangeReader {
    final List<Long> offsets = new ArrayList<>();
    final List<String> summaries = new ArrayList<>();
    private RangeCursor lastFinished;

    Reader(List<OffsetRange> ranges, Contracts contracts) {
      super(Map.of(), ranges, true, contracts, new RateLimiter(0));
    }

    @Override
    Consumer<byte[], byte[]> connect(Map<String, Object> settings) {
      return consumer;
    }

    @Override
    long nanoTime() {
      return clock;
    }

    @Override
    protected boolean onRecord(ConsumerRecord<byte[], byte[]> record) {
      offsets.add(record.offset());
      return false;
    }

    @Override
    protected boolean onFinished(RangeCursor range) {
      if (range != lastFinished) {
        lastFinished = range;
        summaries.add(range.summary.toJson());
      }
      return false;
    }

    @Override
    public InternalRow get() {
      return null;
    }
  }

  private Reader reader(List<OffsetRange> ranges) {
    return new Reader(ranges, new Contracts(null, null));
  }

  private static Long lastGap(String summary) throws IOException {
    var gap = Json.MAPPER.readTree(summary).path("last_gap");
    return gap.isNull() ? null : gap.asLong();
  }

  /** Polls without records for ten seconds each, while the position moves by some offsets. */
  private final class SilentConsumer extends TestConsumer {
    private final long step;

    SilentConsumer(long step) {
      this.step = step;
    }

    @Override
    public synchronized ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
      clock += Duration.ofSeconds(10).toNanos();
      super.seek(PARTITION, position(PARTITION) + step);
      return ConsumerRecords.empty();
    }
  }

  @Test
  void readsTheRangeAndNothingAfterIt() throws IOException {
    consumer = new TestConsumer();
    for (int offset = 0; offset < 20; offset++) {
      consumer.addRecord(TestConsumer.PARTITION, offset, "k", "v");
    }
    try (Reader reader = reader(List.of(new OffsetRange(0, TestConsumer.PARTITION, 3, 7)))) {
      assertFalse(reader.next());
      assertEquals(List.of(3L, 4L, 5L, 6L), reader.offsets);
      assertNull(lastGap(reader.summaries.get(0)));
    }
    assertTrue(consumer.closed());
  }

  @Test
  void readsSeveralPartitions() throws IOException {
    TopicPartition other = new TopicPartition("other", 4);
    consumer = new TestConsumer();
    consumer.addRecord(TestConsumer.PARTITION, 0, "k", "v");
    consumer.addRecord(TestConsumer.PARTITION, 9, "k", "v");
    consumer.addRecord(other, 7, "k", "v");
    try (Reader reader = reader(List.of(RANGES.get(0), new OffsetRange(1, other, 7, 8)))) {
      assertFalse(reader.next());
      assertEquals(3, reader.offsets.size());
      assertEquals(2, reader.summaries.size());
    }
  }

  @Test
  void countsTheOffsetsThatWereRead() throws IOException {
    consumer = new TestConsumer();
    consumer.addRecord(TestConsumer.PARTITION, 4, "k", "v");
    consumer.addRecord(TestConsumer.PARTITION, 9, "k", "v");
    long before = OffsetRangeSource.offsetsRead();
    try (Reader reader = reader(RANGES)) {
      assertFalse(reader.next());
    }
    assertEquals(10, OffsetRangeSource.offsetsRead() - before);
  }

  /** Aborted records and transaction markers are offsets that the consumer skips. */
  @Test
  void abortedRecordsAreAGap() throws IOException {
    consumer = new TestConsumer();
    consumer.addRecord(TestConsumer.PARTITION, 0, "k", "v");
    consumer.addRecord(TestConsumer.PARTITION, 5, "k", "v");
    consumer.addRecord(TestConsumer.PARTITION, 9, "k", "v");
    try (Reader reader = reader(RANGES)) {
      assertFalse(reader.next());
      assertEquals(8L, lastGap(reader.summaries.get(0)));
    }
  }

  @Test
  void aRangeOfAbortedRecordsEndsWithoutARecord() throws IOException {
    consumer = new SilentConsumer(1);
    try (Reader reader = reader(RANGES)) {
      assertFalse(reader.next());
      assertEquals(List.of(), reader.offsets);
      assertEquals(9L, lastGap(reader.summaries.get(0)));
      assertEquals(10, consumer.position(TestConsumer.PARTITION));
    }
  }

  @Test
  void aBrokerThatDoesNotAnswerFailsTheTask() throws IOException {
    consumer = new SilentConsumer(0);
    try (Reader reader = reader(RANGES)) {
      IOException error = assertThrows(IOException.class, reader::next);
      assertEquals("no broker answered for topic-0 for PT30S", error.getMessage());
    }
    assertTrue(consumer.closed());
  }

  @Test
  void aTruncatedLogFailsTheTask() throws IOException {
    consumer =
        new TestConsumer() {
          @Override
          public synchronized ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
            return records(PARTITION, 3, 2);
          }
        };
    try (Reader reader = reader(RANGES)) {
      IOException error = assertThrows(IOException.class, reader::next);
      assertEquals(
          "the log of topic-0 was truncated while it was read: offset 2 came after 3",
          error.getMessage());
    }
  }

  @Test
  void anErrorOfTheConsumerFailsTheTask() throws IOException {
    consumer = new TestConsumer();
    consumer.setPollException(new KafkaException("denied"));
    try (Reader reader = reader(RANGES)) {
      assertEquals("denied", assertThrows(IOException.class, reader::next).getMessage());
    }
  }

  @Test
  void aConsumerThatCannotSeekIsClosed() {
    consumer =
        new TestConsumer() {
          @Override
          public synchronized void seek(TopicPartition partition, long offset) {
            throw new KafkaException("refused");
          }
        };
    assertThrows(KafkaException.class, () -> reader(RANGES));
    assertTrue(consumer.closed());
  }

  /** A consumer that was created before an error in the constructor would never be closed. */
  @Test
  void theConsumerIsCreatedLast() {
    consumer = null;
    NullPointerException error =
        assertThrows(NullPointerException.class, () -> new Reader(RANGES, null));
    assertEquals(RangeCursor.class.getName(), error.getStackTrace()[0].getClassName());
  }
}
