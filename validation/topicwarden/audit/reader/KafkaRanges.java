package topicwarden;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.spark.sql.catalyst.InternalRow;
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
import org.apache.spark.sql.connector.read.SupportsPushDownRequiredColumns;
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
 * names hold neither); {@code kafka.*}, the consumer's settings; {@code rate}, the bytes of keys and values that a task
 * reads in a second, 0 for no bound; {@code contracts} and {@code registry}, see {@link Contracts}. A record is never
 * counted twice: where a log was truncated meanwhile, the read fails; what retention removed meanwhile is passed over.
 *
 * <p>Columns that nobody asks for cost nothing. {@code fits} says which {@link Partitioners} put the key where it is,
 * where a contract wants to know, else null; {@code murmur2}, {@code crc32} and {@code fnv1a} are the key's hashes.
 * Where {@code note} is asked for, records are judged, and after them comes a row for each range: its {@link Notes} in
 * {@code note}, and null in every other column but {@code part}.
 *
 * <p>With the option {@code counted} it is not records that come but what was counted of them, as the option
 * {@code counting} says (see {@link Counting}): {@code groups}, see {@link GroupReader}, or {@code totals}, see
 * {@link TotalsReader}.
 */
public final class KafkaRanges implements TableProvider {
  static final StructType SCHEMA = StructType.fromDDL(
      "part INT, offset BIGINT, time BIGINT, key BINARY, value BINARY, fits INT, note STRING, "
          + "murmur2 INT, crc32 BIGINT, fnv1a INT");

  /** How many offsets the readers of this process have passed, of all tasks since it began. */
  public static long passed() {
    return RangeReader.PASSED.sum();
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return schema(options);
  }

  private static StructType schema(Map<String, String> properties) {
    return switch (properties.getOrDefault("counted", "")) {
      case "groups" -> GroupReader.SCHEMA;
      case "totals" -> TotalsReader.SCHEMA;
      default -> SCHEMA;
    };
  }

  @Override
  public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new Ranges(properties);
  }

  private record Task(List<OffsetRange> ranges) implements InputPartition {}

  private record Readers(
      Map<String, Object> consumer, String[] columns, String counted, String counting, String contracts,
      String registry, long rate)
      implements PartitionReaderFactory {
    @Override
    public String toString() {
      return "kafka ranges"; // and not the settings, which hold passwords
    }

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition task) {
      List<OffsetRange> ranges = ((Task) task).ranges();
      Contracts judged = new Contracts(contracts, registry);
      Pace pace = new Pace(rate);
      return switch (counted) {
        case "groups" -> new GroupReader(consumer, ranges, new Counting(counting), judged, pace);
        case "totals" -> new TotalsReader(consumer, ranges, new Counting(counting), judged, pace);
        default -> new RecordReader(consumer, ranges, columns, judged, pace);
      };
    }
  }

  /** What is to be read: all columns, until Spark says which it needs. */
  private static final class Pruned implements ScanBuilder, SupportsPushDownRequiredColumns {
    private final Map<String, String> properties;
    private StructType wanted;

    Pruned(Map<String, String> properties) {
      this.properties = properties;
      this.wanted = KafkaRanges.schema(properties);
    }

    @Override
    public void pruneColumns(StructType required) {
      if (!properties.containsKey("counted")) { // what was counted is small: it comes whole
        wanted = required;
      }
    }

    @Override
    public Scan build() {
      return new Reading(properties, wanted);
    }
  }

  private record Ranges(Map<String, String> properties) implements Table, SupportsRead {
    @Override
    public String toString() {
      return "kafka ranges"; // and not the settings, which hold passwords
    }

    @Override
    public String name() {
      return "kafka ranges";
    }

    @Override
    public StructType schema() {
      return KafkaRanges.schema(properties);
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return new Pruned(properties);
    }
  }

  private record Reading(Map<String, String> properties, StructType readSchema) implements Scan, Batch {
    @Override
    public String toString() {
      return "kafka ranges"; // and not the settings, which hold passwords
    }

    @Override
    public Batch toBatch() {
      return this;
    }

    @Override
    public InputPartition[] planInputPartitions() {
      return properties.get("tasks").lines().map(Reading::task).toArray(InputPartition[]::new);
    }

    private static InputPartition task(String line) {
      return new Task(Arrays.stream(line.split(" ")).map(OffsetRange::parse).collect(Collectors.toCollection(ArrayList::new)));
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
      return new Readers(
          consumer,
          readSchema.fieldNames(),
          properties.getOrDefault("counted", ""),
          properties.get("counting"),
          properties.get("contracts"),
          properties.get("registry"),
          Long.parseLong(properties.getOrDefault("rate", "0")));
    }
  }
}
