package topicwarden;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * A Spark source that reads exact ranges of offsets, many of them in one task.
 *
 * <p>Spark's own Kafka source asks the broker for the partition's bounds at every gap between offsets, two requests
 * each, so that a compacted topic is read at some hundred records a second; and it starts a task and a consumer for
 * every partition, however small. This one takes gaps as they come, and reads all ranges of a task with one consumer.
 *
 * <p>Options: {@code tasks}, a line a task of {@code part:topic:partition:start:end} entries parted by blanks (topic
 * names hold neither); {@code kafka.*}, the consumer's settings. A record is never counted twice: where a log was
 * truncated meanwhile, the read fails; what retention removed meanwhile is passed over.
 */
public final class KafkaRanges implements TableProvider {
  private static final StructType SCHEMA =
      StructType.fromDDL("part INT, offset BIGINT, time BIGINT, key BINARY, value BINARY");

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return SCHEMA;
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new Ranges(properties);
  }

  private record Range(int part, TopicPartition place, long start, long end) implements java.io.Serializable {
    static Range parse(String entry) {
      String[] fields = entry.split(":");
      TopicPartition place = new TopicPartition(fields[1], Integer.parseInt(fields[2]));
      return new Range(Integer.parseInt(fields[0]), place, Long.parseLong(fields[3]), Long.parseLong(fields[4]));
    }
  }

  private record Task(List<Range> ranges) implements InputPartition {}

  private record Readers(Map<String, Object> consumer) implements PartitionReaderFactory {
    @Override
    public PartitionReader<InternalRow> createReader(InputPartition task) {
      return new Reader(consumer, ((Task) task).ranges());
    }
  }

  private record Ranges(Map<String, String> properties) implements Table, SupportsRead, Scan, Batch {
    @Override
    public String name() {
      return "kafka ranges";
    }

    @Override
    public StructType schema() {
      return SCHEMA;
    }

    @Override
    public StructType readSchema() {
      return SCHEMA;
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return () -> this;
    }

    @Override
    public Batch toBatch() {
      return this;
    }

    @Override
    public InputPartition[] planInputPartitions() {
      return properties.get("tasks").lines().map(Ranges::task).toArray(InputPartition[]::new);
    }

    private static InputPartition task(String line) {
      return new Task(Arrays.stream(line.split(" ")).map(Range::parse).collect(Collectors.toCollection(ArrayList::new)));
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      Map<String, Object> consumer = new HashMap<>();
      properties.forEach((name, value) -> {
        if (name.startsWith("kafka.")) {
          consumer.put(name.substring("kafka.".length()), value);
        }
      });
      consumer.put("key.deserializer", ByteArrayDeserializer.class.getName());
      consumer.put("value.deserializer", ByteArrayDeserializer.class.getName());
      consumer.put("enable.auto.commit", "false");
      consumer.put("auto.offset.reset", "earliest"); // what retention removed meanwhile is passed over
      return new Readers(consumer);
    }
  }

  /** One range, and the offset below which it has been read. */
  private static final class Cursor {
    final Range range;
    long next;

    Cursor(Range range) {
      this.range = range;
      this.next = range.start();
    }
  }

  /** Reads the ranges of one task as the brokers answer, each in the order of its offsets. */
  private static final class Reader implements PartitionReader<InternalRow> {
    private static final Duration POLL = Duration.ofMillis(500);
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final KafkaConsumer<byte[], byte[]> consumer;
    private final Map<TopicPartition, Cursor> open = new HashMap<>();
    private final GenericInternalRow row = new GenericInternalRow(SCHEMA.size());
    private ConsumerRecords<byte[], byte[]> answer = ConsumerRecords.empty();
    private Iterator<TopicPartition> places = Collections.emptyIterator();
    private Iterator<ConsumerRecord<byte[], byte[]>> records = Collections.emptyIterator();
    private Cursor cursor;
    private long progress = System.nanoTime();

    Reader(Map<String, Object> settings, List<Range> ranges) {
      consumer = new KafkaConsumer<>(settings);
      ranges.forEach(range -> open.put(range.place(), new Cursor(range)));
      consumer.assign(open.keySet());
      ranges.forEach(range -> consumer.seek(range.place(), range.start()));
    }

    @Override
    public boolean next() throws IOException {
      try {
        while (true) {
          if (records.hasNext()) {
            ConsumerRecord<byte[], byte[]> record = records.next();
            if (record.offset() < cursor.range.end()) {
              fill(record);
              return true;
            }
            records = Collections.emptyIterator();
          } else if (places.hasNext()) {
            TopicPartition place = places.next();
            cursor = open.get(place);
            records = answer.records(place).iterator();
          } else if (!poll()) {
            return false;
          }
        }
      } catch (KafkaException error) {
        throw new IOException(error.getMessage(), error);
      }
    }

    /** Polls once; false where every range was read to its end. */
    private boolean poll() throws IOException {
      List<TopicPartition> done = open.values().stream()
          .filter(one -> consumer.position(one.range.place()) >= one.range.end())
          .map(one -> one.range.place())
          .toList();
      if (!done.isEmpty()) {
        done.forEach(open::remove);
        consumer.pause(done);
        progress = System.nanoTime();
      }
      if (open.isEmpty()) {
        return false;
      }
      answer = consumer.poll(POLL);
      places = answer.partitions().iterator();
      if (places.hasNext()) {
        progress = System.nanoTime();
      } else if (System.nanoTime() - progress > PATIENCE.toNanos()) {
        throw new IOException("no broker answered for " + open.keySet().iterator().next() + " for " + PATIENCE);
      }
      return true;
    }

    private void fill(ConsumerRecord<byte[], byte[]> record) throws IOException {
      if (record.offset() < cursor.next) {
        throw new IOException("the log of " + cursor.range.place() + " was truncated while it was read: offset "
            + record.offset() + " came after " + (cursor.next - 1));
      }
      cursor.next = record.offset() + 1;
      row.update(0, cursor.range.part());
      row.update(1, record.offset());
      row.update(2, record.timestamp());
      row.update(3, record.key());
      row.update(4, record.value());
    }

    @Override
    public InternalRow get() {
      return row;
    }

    @Override
    public void close() {
      consumer.close(Duration.ofSeconds(1));
    }
  }
}
