package topicwarden;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
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
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.PartitionReader;

/** Reads the ranges of one task as the brokers answer, each in the order of its offsets; what is made of them is told below. */
abstract class RangeReader implements PartitionReader<InternalRow> {
  /** One range, the offset below which it has been read, and what its records are judged by. */
  static final class Cursor {
    final OffsetRange range;
    final Contracts.Terms terms;
    final Notes notes;
    long next;

    Cursor(OffsetRange range, Contracts contracts) {
      this.range = range;
      this.terms = contracts.of(range.place().topic());
      this.notes = new Notes(range.start(), terms.late());
      this.next = range.start();
    }
  }

  /** Offsets that the readers of this process have passed. */
  static final LongAdder PASSED = new LongAdder();

  private static final Duration POLL = Duration.ofMillis(500);
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final Duration CLOSING = Duration.ofSeconds(1);

  private final Consumer<byte[], byte[]> consumer;
  private final Map<TopicPartition, Cursor> open = new HashMap<>();
  private final List<Cursor> cursors = new ArrayList<>();
  private final Map<TopicPartition, Long> positions = new HashMap<>();
  private final boolean judging;
  private final Pace pace;
  private ConsumerRecords<byte[], byte[]> answer = ConsumerRecords.empty();
  private Iterator<TopicPartition> places = Collections.emptyIterator();
  private Iterator<ConsumerRecord<byte[], byte[]>> records = Collections.emptyIterator();
  private Iterator<Cursor> ended;
  protected Cursor cursor;
  private long idle; // nanoseconds in polls since a position last moved
  private long passed;

  /** {@code judging}: whether records are judged by {@code contracts}, and the notes told. */
  RangeReader(
      Map<String, Object> settings, List<OffsetRange> ranges, boolean judging, Contracts contracts, Pace pace) {
    this.pace = pace;
    this.judging = judging;
    for (OffsetRange range : ranges) {
      Cursor one = new Cursor(range, contracts);
      cursors.add(one);
      open.put(range.place(), one);
      positions.put(range.place(), range.start());
    }
    consumer = connect(settings); // last, as nobody closes what a constructor leaves behind
    try {
      consumer.assign(open.keySet());
      ranges.forEach(range -> consumer.seek(range.place(), range.start()));
    } catch (RuntimeException error) {
      consumer.close(CLOSING);
      throw error;
    }
  }

  /** A consumer of {@code settings}. Called once, by the constructor. */
  Consumer<byte[], byte[]> connect(Map<String, Object> settings) {
    return new KafkaConsumer<>(settings);
  }

  /** The time in nanoseconds, from any origin. */
  long now() {
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
          } else if (take(record)) {
            return true;
          }
        } else if (ended != null) {
          if (cursor == null || !told(cursor)) {
            if (!ended.hasNext()) {
              cursor = null;
              return rest();
            }
            cursor = ended.next();
            continue;
          }
          return true;
        } else if (places.hasNext()) {
          TopicPartition place = places.next();
          cursor = open.get(place);
          records = answer.records(place).iterator();
        } else if (!poll()) {
          cursor = null;
          ended = judging ? cursors.iterator() : Collections.emptyIterator();
        }
      }
    } catch (KafkaException error) {
      throw new IOException(error.getMessage(), error);
    }
  }

  /** Polls once; false where every range was read to its end. */
  private boolean poll() throws IOException {
    PASSED.add(passed);
    passed = 0;
    List<TopicPartition> done = new ArrayList<>();
    for (Cursor one : open.values()) {
      long position = consumer.position(one.range.place());
      if (positions.put(one.range.place(), position) != position) {
        idle = 0; // also behind what was aborted, of which no record comes
      }
      if (position >= one.range.end()) {
        done.add(one.range.place());
      }
    }
    if (!done.isEmpty()) {
      done.forEach(open::remove);
      consumer.pause(done);
    }
    if (open.isEmpty()) {
      return false;
    }
    if (idle > PATIENCE.toNanos()) {
      throw new IOException("no broker answered for " + open.keySet().iterator().next() + " for " + PATIENCE);
    }
    pace.keep();
    long before = now();
    answer = consumer.poll(POLL);
    idle += now() - before;
    places = answer.partitions().iterator();
    return true;
  }

  private boolean take(ConsumerRecord<byte[], byte[]> record) throws IOException {
    if (record.offset() < cursor.next) {
      throw new IOException("the log of " + cursor.range.place() + " was truncated while it was read: offset "
          + record.offset() + " came after " + (cursor.next - 1));
    }
    passed += record.offset() + 1 - cursor.next;
    cursor.next = record.offset() + 1;
    pace.add(record);
    if (judging) {
      cursor.notes.stamp(record);
      if (cursor.terms.contract() != null) {
        cursor.terms.contract().judge(record, cursor.notes);
      }
    }
    return taken(record);
  }

  /** Takes a record of {@code cursor}; whether a row is there to be got. */
  protected abstract boolean taken(ConsumerRecord<byte[], byte[]> record) throws IOException;

  /** Makes the next row of what is left to tell of a range that has been read; false where all is told. */
  protected abstract boolean told(Cursor one);

  /** Makes the next row of what is left when every range is told; false where nothing is. */
  protected boolean rest() throws IOException {
    return false;
  }

  @Override
  public void close() throws IOException {
    consumer.close(CLOSING);
  }
}
