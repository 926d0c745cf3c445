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
import org.apache.kafka.common.errors.InterruptException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.junit.jupiter.api.Test;

class RangeReaderTest {
  private static final List<OffsetRange> RANGES =
      List.of(new OffsetRange(0, TestConsumer.PARTITION, 0, 10));

  private static final TopicPartition OTHER = new TopicPartition("other", 4);

  private TestConsumer consumer;
  private final List<TestConsumer> consumers = new ArrayList<>(); // instead of it, one by one
  private long clock;

  /** Collects offsets and summaries. */
  private final class Reader extends RangeReader {
    final List<Long> offsets = new ArrayList<>();
    final List<String> summaries = new ArrayList<>();
    private RangeCursor lastFinished;

    Reader(List<OffsetRange> ranges, Contracts contracts) {
      super(Map.of(), ranges, true, contracts, 100, new RateLimiter(0));
    }

    @Override
    Consumer<byte[], byte[]> connect(Map<String, Object> settings) {
      return consumers.isEmpty() ? consumer : consumers.remove(0);
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
    consumer = new TestConsumer();
    consumer.addRecord(TestConsumer.PARTITION, 0, "k", "v");
    consumer.addRecord(TestConsumer.PARTITION, 9, "k", "v");
    consumer.addRecord(OTHER, 7, "k", "v");
    try (Reader reader = reader(List.of(RANGES.get(0), new OffsetRange(1, OTHER, 7, 8)))) {
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

  private static String unread(String summary) throws IOException {
    var note = Json.MAPPER.readTree(summary);
    return note.path("unread_from").asText() + ": " + note.path("unread_reason").asText();
  }

  @Test
  void aBrokerThatDoesNotAnswerLeavesTheRangeUnread() throws IOException {
    consumer = new SilentConsumer(0);
    try (Reader reader = reader(RANGES)) {
      assertFalse(reader.next());
      assertEquals("0: no broker answered for 30 s", unread(reader.summaries.get(0)));
    }
    assertTrue(consumer.closed());
  }

  @Test
  void aTruncatedLogLeavesTheRangeUnread() throws IOException {
    consumer =
        new TestConsumer() {
          @Override
          public synchronized ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
            return records(PARTITION, 3, 2);
          }
        };
    try (Reader reader = reader(RANGES)) {
      assertFalse(reader.next());
      assertEquals(
          "4: the log was truncated: offset 2 came after 3", unread(reader.summaries.get(0)));
      assertEquals(List.of(3L), reader.offsets);
    }
  }

  /** Fails while a partition is assigned whose record cannot be read, with records before it. */
  private TestConsumer poisoned(Throwable error) {
    TestConsumer poisoned =
        new TestConsumer() {
          @Override
          public synchronized ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
            boolean reached = assignment().contains(PARTITION) && position(PARTITION) >= 3;
            if (reached && error instanceof Error fatal) {
              throw fatal;
            } else if (reached) {
              throw (RuntimeException) error;
            }
            return super.poll(timeout);
          }
        };
    for (int offset = 0; offset < 3; offset++) {
      poisoned.addRecord(TestConsumer.PARTITION, offset, "k", "v");
    }
    for (int offset = 0; offset < 9; offset++) {
      poisoned.addRecord(OTHER, offset, "k", "v");
    }
    return poisoned;
  }

  @Test
  void aRecordThatCannotBeReadLeavesTheOtherRangesAlone() throws IOException {
    for (Throwable error : List.of(new KafkaException("k: v"), new OutOfMemoryError("heap"))) {
      consumers.clear();
      for (int number = 0; number < 3; number++) { // together, the poisoned range, the other one
        consumers.add(poisoned(error));
      }
      try (Reader reader = reader(List.of(RANGES.get(0), new OffsetRange(1, OTHER, 0, 9)))) {
        assertFalse(reader.next());
        assertEquals(12, reader.offsets.size());
        String reason =
            error instanceof Error
                ? "a record or batch needs more memory than the reader has"
                : "the consumer failed with KafkaException";
        assertEquals("3: " + reason, unread(reader.summaries.get(0)));
        assertFalse(reader.summaries.get(1).contains("unread"));
      }
    }
  }

  @Test
  void withoutSummariesTheTaskFails() throws IOException {
    consumer = new SilentConsumer(0);
    try (RecordReader reader =
        new RecordReader(
            Map.of(), RANGES, new String[] {"key"}, new Contracts(null, null), new RateLimiter(0)) {
          @Override
          Consumer<byte[], byte[]> connect(Map<String, Object> settings) {
            return consumer;
          }

          @Override
          long nanoTime() {
            return clock;
          }
        }) {
      assertEquals(
          "cannot read topic-0: no broker answered for 30 s",
          assertThrows(IOException.class, reader::next).getMessage());
    }
  }

  @Test
  void aTaskThatSparkEndsFails() throws IOException {
    consumer = new TestConsumer();
    consumer.setPollException(new InterruptException("ended"));
    try (Reader reader = reader(RANGES)) {
      assertThrows(IOException.class, reader::next);
    }
    assertTrue(Thread.interrupted());
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
