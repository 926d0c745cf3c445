package io.topicwarden.reader.source;

import io.topicwarden.reader.codecs.Contracts;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;

/**
 * Reads the offset ranges of one task with one consumer. The records of a partition come in the
 * order of their offsets; subclasses make rows of them.
 *
 * <p>A range that cannot be read does not stop the others: its summary has the reason. After an
 * error of the consumer, the ranges are read one by one, and record by record, because the error
 * may not name its partition. Without summaries, the task fails.
 */
abstract class RangeReader implements PartitionReader<InternalRow> {
  /** How many offsets the readers of this process have read. */
  static final LongAdder OFFSETS_READ = new LongAdder();

  private static final Duration POLL_TIMEOUT = Duration.ofMillis(500);
  private static final Duration MAX_IDLE = Duration.ofSeconds(30);
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);

  /** The range whose records are being read, or null at the end. */
  protected RangeCursor cursor;

  private final Map<String, Object> consumerSettings;
  private Consumer<byte[], byte[]> consumer;
  private final List<RangeCursor> cursors = new ArrayList<>();
  private final Map<TopicPartition, RangeCursor> unfinished = new HashMap<>();
  private final Map<TopicPartition, Long> positions = new HashMap<>();
  private final boolean validates;
  private final RateLimiter rateLimiter;
  private ConsumerRecords<byte[], byte[]> polled = ConsumerRecords.empty();
  private Iterator<TopicPartition> partitions = Collections.emptyIterator();
  private Iterator<ConsumerRecord<byte[], byte[]>> records = Collections.emptyIterator();
  private Iterator<RangeCursor> finished;
  private RangeCursor isolated; // the only range that is read now, after an error
  private long idleNanos; // in polls, since a position last changed
  private long offsetsRead; // since the last poll

  /**
   * Creates a consumer and assigns the partitions of the ranges.
   *
   * @param consumerSettings the settings of the Kafka consumer
   * @param validates whether to validate records by {@code contracts} and to keep summaries
   * @param blockSize the number of offsets in a block by which summaries count schema ids
   */
  RangeReader(
      Map<String, Object> consumerSettings,
      List<OffsetRange> ranges,
      boolean validates,
      Contracts contracts,
      long blockSize,
      RateLimiter rateLimiter) {
    this.consumerSettings = consumerSettings;
    this.rateLimiter = rateLimiter;
    this.validates = validates;
    for (OffsetRange range : ranges) {
      RangeCursor rangeCursor = new RangeCursor(range, contracts, blockSize);
      cursors.add(rangeCursor);
      unfinished.put(range.partition(), rangeCursor);
      positions.put(range.partition(), range.start());
    }
    consumer = connect(consumerSettings); // last, because nobody closes a half-constructed reader
    try {
      assign(unfinished.values());
    } catch (RuntimeException error) {
      consumer.close(CLOSE_TIMEOUT);
      throw error;
    }
  }

  private void assign(Collection<RangeCursor> selected) {
    consumer.assign(selected.stream().map(each -> each.range.partition()).toList());
    for (RangeCursor each : selected) {
      consumer.seek(each.range.partition(), each.nextOffset);
      positions.put(each.range.partition(), each.nextOffset);
    }
    idleNanos = 0;
  }

  /** Creates a consumer; called by the constructor, and after an error. */
  Consumer<byte[], byte[]> connect(Map<String, Object> consumerSettings) {
    return new KafkaConsumer<>(consumerSettings);
  }

  /** Returns a time in nanoseconds, from any origin. */
  long nanoTime() {
    return System.nanoTime();
  }

  @Override
  public boolean next() throws IOException {
    try {
      while (true) {
        if (records.hasNext()) {
          ConsumerRecord<byte[], byte[]> record = records.next();
          if (record.offset() >= cursor.range.end()) {
            records = Collections.emptyIterator();
          } else if (read(record)) {
            return true;
          }
        } else if (finished != null) {
          if (cursor != null && onFinished(cursor)) {
            return true;
          }
          if (!finished.hasNext()) {
            cursor = null;
            return onEnd();
          }
          cursor = finished.next();
        } else if (partitions.hasNext()) {
          TopicPartition partition = partitions.next();
          cursor = unfinished.get(partition);
          records = polled.records(partition).iterator();
        } else if (!poll()) {
          cursor = null;
          finished = validates ? cursors.iterator() : Collections.emptyIterator();
        }
      }
    } catch (InterruptException error) {
      throw new IOException(error.getMessage(), error);
    }
  }

  /** Polls once; returns false if every range has been read to its end. */
  private boolean poll() throws IOException {
    OFFSETS_READ.add(offsetsRead);
    offsetsRead = 0;
    try {
      finishRanges();
      if (unfinished.isEmpty()) {
        return false;
      }
      if (idleNanos > MAX_IDLE.toNanos()) {
        String reason = "no broker answered for " + MAX_IDLE.toSeconds() + " s";
        for (RangeCursor each : assigned()) {
          giveUp(each, reason);
        }
        return isolated == null ? !unfinished.isEmpty() : isolateNext();
      }
      rateLimiter.await();
      long before = nanoTime();
      polled = consumer.poll(POLL_TIMEOUT);
      idleNanos += nanoTime() - before;
      partitions = polled.partitions().iterator();
      return true;
    } catch (InterruptException error) {
      throw error;
    } catch (KafkaException | OutOfMemoryError error) {
      return isolate(error);
    }
  }

  private List<RangeCursor> assigned() {
    return isolated == null ? List.copyOf(unfinished.values()) : List.of(isolated);
  }

  /** Stops to read the ranges whose end has been reached. */
  private void finishRanges() {
    List<TopicPartition> atEnd = new ArrayList<>();
    for (RangeCursor each : assigned()) {
      TopicPartition partition = each.range.partition();
      long position = consumer.position(partition);
      if (positions.put(partition, position) != position) {
        idleNanos = 0; // the position also moves over aborted records, which are not returned
      }
      if (position >= each.range.end()) {
        atEnd.add(partition);
      }
    }
    if (!atEnd.isEmpty()) {
      atEnd.forEach(unfinished::remove);
      if (isolated == null) {
        consumer.pause(atEnd);
      } else {
        isolateNext();
      }
    }
  }

  /**
   * Gives up the range that was read alone, or begins to read the ranges one by one. A poll of one
   * record needs the least memory; records of a compressed batch may be much larger than the batch.
   */
  private boolean isolate(Throwable error) throws IOException {
    polled = ConsumerRecords.empty();
    consumer.close(CLOSE_TIMEOUT);
    if (isolated != null) {
      giveUp(isolated, describe(error));
    }
    Map<String, Object> settings = new HashMap<>(consumerSettings);
    settings.put("max.poll.records", "1");
    consumer = connect(settings);
    return isolateNext();
  }

  private boolean isolateNext() {
    isolated = unfinished.isEmpty() ? null : unfinished.values().iterator().next();
    if (isolated != null) {
      assign(List.of(isolated));
    }
    return isolated != null;
  }

  /** Returns the kind of an error: a message of Kafka's clients may hold a part of a record. */
  private static String describe(Throwable error) {
    if (error instanceof OutOfMemoryError) {
      return "a record or batch needs more memory than the reader has";
    }
    Throwable deepest = error;
    while (deepest.getCause() instanceof KafkaException cause) {
      deepest = cause;
    }
    return "the consumer failed with " + deepest.getClass().getSimpleName();
  }

  private void giveUp(RangeCursor each, String reason) throws IOException {
    if (!validates) {
      throw new IOException("cannot read " + each.range.partition() + ": " + reason);
    }
    each.summary.giveUp(each.nextOffset, reason);
    unfinished.remove(each.range.partition());
    if (isolated == null && !consumer.assignment().isEmpty()) {
      consumer.pause(List.of(each.range.partition()));
    }
  }

  private boolean read(ConsumerRecord<byte[], byte[]> record) throws IOException {
    long offset = record.offset();
    if (offset < cursor.nextOffset) {
      long before = cursor.nextOffset - 1;
      giveUp(cursor, "the log was truncated: offset " + offset + " came after " + before);
      records = Collections.emptyIterator();
      if (isolated != null) {
        isolateNext();
      }
      return false;
    }
    offsetsRead += offset + 1 - cursor.nextOffset;
    cursor.nextOffset = offset + 1;
    rateLimiter.add(record);
    if (validates) {
      cursor.summary.add(record);
      if (cursor.contract.records() != null) {
        RangeSummary summary = cursor.summary;
        cursor.contract.records().validate(record, summary.faults(), summary.schemaIds());
      }
    }
    return onRecord(record);
  }

  /** Processes a record of {@link #cursor}; returns whether a row is ready. */
  protected abstract boolean onRecord(ConsumerRecord<byte[], byte[]> record) throws IOException;

  /**
   * Makes the next row of a range that has been read to its end. Called again until it returns
   * false: there are no more rows of the range.
   */
  protected abstract boolean onFinished(RangeCursor range);

  /** Makes the next row after those of all ranges; returns false if there are no more rows. */
  protected boolean onEnd() throws IOException {
    return false;
  }

  @Override
  public void close() throws IOException {
    consumer.close(CLOSE_TIMEOUT);
  }
}
