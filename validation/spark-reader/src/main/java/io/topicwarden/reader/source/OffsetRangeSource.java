package io.topicwarden.reader.source;

import io.topicwarden.reader.codecs.Contracts;
import io.topicwarden.reader.codecs.LastJson;
import io.topicwarden.reader.counting.CountingRules;
import io.topicwarden.reader.counting.GroupRow;
import io.topicwarden.reader.counting.SparkSpillStorage;
import io.topicwarden.reader.fields.FieldRules;
import io.topicwarden.reader.inference.Settings;
import java.util.List;
import java.util.Map;
import java.util.Set;
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
 * A Spark data source that reads exact offset ranges of Kafka topics, many ranges in one task.
 *
 * <p>Spark's own Kafka source sends two requests to the broker for every gap between offsets, so it
 * reads compacted topics at some hundred records per second. It also starts a task and a consumer
 * for every partition. This source accepts gaps, and reads all ranges of a task with one consumer.
 *
 * <p>Options:
 *
 * <ul>
 *   <li>{@code tasks}: one line for each task, with ranges {@code part:topic:partition:start:end}
 *       separated by spaces
 *   <li>{@code kafka.*}: settings of the consumer
 *   <li>{@code rate}: the maximum bytes of keys and values per second of a task; 0 for no limit
 *   <li>{@code contracts}, {@code registry}: see {@link Contracts}
 *   <li>{@code counted}: {@code groups} (see {@link GroupReader}), {@code totals} (see {@link
 *       TotalsReader}), {@code fields} (see {@link FieldReader}) or {@code summaries} (see {@link
 *       InferenceReader}) instead of records
 *   <li>{@code counting}: see {@link CountingRules}, {@link FieldRules} and {@link Settings}
 *   <li>{@code compared}, only with totals: see {@link FieldRules} and {@link ComparingReader}
 * </ul>
 *
 * <p>Columns of records: see {@link RecordReader#SCHEMA}. Only selected columns are computed.
 * {@code fits} says which partitioners put the key into its partition. If {@code note} is selected,
 * records are validated, and a row with the {@link RangeSummary} of each range follows the records.
 *
 * <p>No record is read twice: if a log was truncated meanwhile, the read fails. Records that
 * retention deleted meanwhile are skipped.
 */
public final class OffsetRangeSource implements TableProvider {
  private static final String NAME = "kafka offset ranges"; // shown instead of options: passwords
  private static final String COMPARED = "compared";
  private static final String COUNTED = "counted";
  private static final String FIELDS = "fields";
  private static final String SUMMARIES = "summaries";

  // Not in TotalsReader, which also runs without Spark: Spark's parser takes a second to load.
  static final StructType TOTALS = StructType.fromDDL("totals STRING");

  /** Returns how many offsets the tasks in this process have read since the process started. */
  public static long offsetsRead() {
    return RangeReader.OFFSETS_READ.sum();
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    return schema(options);
  }

  private static StructType schema(Map<String, String> options) {
    return switch (options.getOrDefault(COUNTED, "")) {
      case "groups" -> GroupRow.SCHEMA;
      case "totals" -> options.containsKey(COMPARED) ? FieldRows.SCHEMA : TOTALS;
      case FIELDS -> FieldRows.SCHEMA;
      case SUMMARIES -> InferenceReader.SCHEMA;
      default -> RecordReader.SCHEMA;
    };
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    return new RangeTable(properties);
  }

  private record RangeTable(Map<String, String> options) implements Table, SupportsRead {
    @Override
    public String toString() {
      return NAME;
    }

    @Override
    public String name() {
      return NAME;
    }

    @Override
    @SuppressWarnings("deprecation") // abstract in Spark 4.0; the default of columns() calls this
    public StructType schema() {
      return OffsetRangeSource.schema(options);
    }

    @Override
    public Set<TableCapability> capabilities() {
      return Set.of(TableCapability.BATCH_READ);
    }

    @Override
    public ScanBuilder newScanBuilder(CaseInsensitiveStringMap scanOptions) {
      return new RangeScanBuilder(options);
    }
  }

  private static final class RangeScanBuilder
      implements ScanBuilder, SupportsPushDownRequiredColumns {
    private final Map<String, String> options;
    private StructType selected;

    RangeScanBuilder(Map<String, String> options) {
      this.options = options;
      this.selected = OffsetRangeSource.schema(options);
    }

    @Override
    public void pruneColumns(StructType required) {
      if (!options.containsKey(COUNTED)) { // rows of counts always have all columns
        selected = required;
      }
    }

    @Override
    public Scan build() {
      return new RangeScan(options, selected);
    }
  }

  private record RangeScan(Map<String, String> options, StructType readSchema)
      implements Scan, Batch {
    @Override
    public String toString() {
      return NAME;
    }

    @Override
    public Batch toBatch() {
      return this;
    }

    @Override
    public InputPartition[] planInputPartitions() {
      return options.get("tasks").lines().map(Task::parse).toArray(InputPartition[]::new);
    }

    @Override
    public PartitionReaderFactory createReaderFactory() {
      return new ReaderFactory(
          ConsumerSettings.from(options),
          readSchema.fieldNames(),
          options.getOrDefault(COUNTED, ""),
          options.get("counting"),
          options.get(COMPARED),
          options.get("contracts"),
          options.get("registry"),
          Long.parseLong(options.getOrDefault("rate", "0")));
    }
  }

  private record Task(List<OffsetRange> ranges) implements InputPartition {
    static Task parse(String line) {
      return new Task(OffsetRange.parseAll(line));
    }
  }

  private record ReaderFactory(
      Map<String, Object> consumerSettings,
      String[] columns,
      String counted,
      String countingRules,
      String comparedRules,
      String contractsJson,
      String registry,
      long bytesPerSecond)
      implements PartitionReaderFactory {
    @Override
    public String toString() {
      return NAME;
    }

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      List<OffsetRange> ranges = ((Task) partition).ranges();
      LastJson last = comparedRules == null ? null : new LastJson();
      Contracts contracts = new Contracts(contractsJson, registry, last);
      RateLimiter limiter = new RateLimiter(bytesPerSecond);
      if (counted.isEmpty()) {
        return new RecordReader(consumerSettings, ranges, columns, contracts, limiter);
      }
      if (counted.equals(FIELDS)) {
        FieldRules fields = new FieldRules(countingRules, registry, null);
        return new FieldReader(consumerSettings, ranges, fields, limiter);
      }
      if (counted.equals(SUMMARIES)) {
        Settings settings = Settings.parse(countingRules);
        return new InferenceReader(consumerSettings, ranges, settings, contracts, limiter);
      }
      CountingRules rules = new CountingRules(countingRules);
      SparkSpillStorage storage = new SparkSpillStorage();
      if (comparedRules != null) {
        FieldRules fields = new FieldRules(comparedRules, registry, last);
        return new ComparingReader(
            consumerSettings, ranges, rules, fields, contracts, limiter, storage);
      }
      return counted.equals("groups")
          ? new GroupReader(consumerSettings, ranges, rules, contracts, limiter, storage)
          : new TotalsReader(consumerSettings, ranges, rules, contracts, limiter, storage);
    }
  }
}
