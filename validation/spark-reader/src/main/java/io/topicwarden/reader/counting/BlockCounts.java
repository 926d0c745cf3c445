package io.topicwarden.reader.counting;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.topicwarden.reader.counting.CountingRules.PartitionRules;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.Row;

/**
 * What is counted of the records of one age band, in one offset block or in several.
 *
 * <p>To add a number: add a {@link Metric}, and count it in {@link #add(ConsumerRecord, int,
 * PartitionRules)}. Its column, its JSON field and the addition of blocks follow from the metric.
 */
public final class BlockCounts {
  private enum Merge {
    SUM(0),
    MIN(Long.MAX_VALUE),
    MAX(Long.MIN_VALUE);

    final long identity;

    Merge(long identity) {
      this.identity = identity;
    }

    long apply(long left, long right) {
      return switch (this) {
        case SUM -> left + right;
        case MIN -> Math.min(left, right);
        case MAX -> Math.max(left, right);
      };
    }
  }

  private enum Metric {
    RECORDS("records", Merge.SUM),
    ROLLED("rolled", Merge.SUM),
    CLEANABLE("cleanable", Merge.SUM),
    LARGEST_RECORD("largest_record", "INT", Merge.MAX, false),
    PAYLOAD_BYTES("payload_bytes", Merge.SUM),
    NULL_KEYS("null_keys", Merge.SUM),
    FIRST_NULL_KEY("first_null_key", "BIGINT", Merge.MIN, true),
    TOMBSTONES("tombstones", Merge.SUM),
    EMPTY_VALUES("empty_values", Merge.SUM),
    FIRST_EMPTY_VALUE("first_empty_value", "BIGINT", Merge.MIN, true),
    CLEANABLE_BYTES("cleanable_bytes", Merge.SUM),
    EXPIRED("expired", Merge.SUM),
    EXPIRED_BEHIND_FUTURE("expired_behind_future", Merge.SUM),
    FIRST_TIMESTAMP("first_timestamp", "BIGINT", Merge.MIN, true),
    LAST_TIMESTAMP("last_timestamp", "BIGINT", Merge.MAX, true);

    static final List<Metric> ALL = List.of(values());

    final String name;
    final String type;
    final Merge merge;

    /** Whether there may be no value, although there are records. */
    final boolean optional;

    Metric(String name, Merge merge) {
      this(name, "BIGINT", merge, false);
    }

    Metric(String name, String type, Merge merge, boolean optional) {
      this.name = name;
      this.type = type;
      this.merge = merge;
      this.optional = optional;
    }
  }

  /** The columns of the metrics in {@link GroupRow#SCHEMA}. */
  static final List<String> COLUMNS =
      Metric.ALL.stream().map(metric -> metric.name + " " + metric.type).toList();

  private static final class RowLayout { // loaded late, as GroupRow needs COLUMNS
    static final int[] COLUMN =
        Metric.ALL.stream().mapToInt(metric -> GroupRow.SCHEMA.fieldIndex(metric.name)).toArray();
  }

  private final long[] values = new long[Metric.ALL.size()];

  public BlockCounts() {
    for (Metric metric : Metric.ALL) {
      values[metric.ordinal()] = metric.merge.identity;
    }
  }

  /**
   * Counts a record. Records come in the order of their offsets.
   *
   * @param bytes the size of the key and the value
   */
  public void add(ConsumerRecord<byte[], byte[]> record, int bytes, PartitionRules rules) {
    long offset = record.offset();
    long timestamp = record.timestamp();
    sum(Metric.RECORDS, 1);
    sum(Metric.PAYLOAD_BYTES, bytes);
    max(Metric.LARGEST_RECORD, bytes);
    if (record.key() == null) {
      sum(Metric.NULL_KEYS, 1);
      min(Metric.FIRST_NULL_KEY, offset);
    }
    if (record.value() == null) {
      sum(Metric.TOMBSTONES, 1);
    } else if (record.value().length == 0) {
      sum(Metric.EMPTY_VALUES, 1);
      min(Metric.FIRST_EMPTY_VALUE, offset);
    }
    if (offset < rules.rolledBefore()) {
      sum(Metric.ROLLED, 1);
    }
    if (offset < rules.cleanableBefore()) {
      sum(Metric.CLEANABLE, 1);
      sum(Metric.CLEANABLE_BYTES, bytes);
    }
    if (timestamp < 0) { // the broker takes the time at which it wrote the segment
      return;
    }
    if (timestamp < rules.expiredBefore()) {
      sum(Metric.EXPIRED, 1);
      if (offset > rules.futureOffset()) {
        sum(Metric.EXPIRED_BEHIND_FUTURE, 1);
      }
    }
    min(Metric.FIRST_TIMESTAMP, timestamp);
    max(Metric.LAST_TIMESTAMP, timestamp);
  }

  private void sum(Metric metric, long number) {
    values[metric.ordinal()] += number;
  }

  private void min(Metric metric, long value) {
    values[metric.ordinal()] = Math.min(values[metric.ordinal()], value);
  }

  private void max(Metric metric, long value) {
    values[metric.ordinal()] = Math.max(values[metric.ordinal()], value);
  }

  /** Adds the counts of other records. */
  void add(BlockCounts other) {
    for (Metric metric : Metric.ALL) {
      int i = metric.ordinal();
      values[i] = metric.merge.apply(values[i], other.values[i]);
    }
  }

  /** Returns the largest timestamp, or a negative number if no record has one. */
  long lastTimestamp() {
    return values[Metric.LAST_TIMESTAMP.ordinal()];
  }

  private boolean isAbsent(Metric metric) {
    // The first timestamp may be as large as its identity; no timestamp is as small as the other.
    Metric decisive = metric == Metric.FIRST_TIMESTAMP ? Metric.LAST_TIMESTAMP : metric;
    return metric.optional && values[decisive.ordinal()] == decisive.merge.identity;
  }

  /** Writes the columns of the metrics. */
  void writeTo(GroupRow row) {
    for (Metric metric : Metric.ALL) {
      int column = RowLayout.COLUMN[metric.ordinal()];
      long value = values[metric.ordinal()];
      if (metric.type.equals("INT")) {
        row.put(column, (int) value);
      } else if (!isAbsent(metric)) {
        row.put(column, value);
      }
    }
  }

  /** Returns the counts in a row of {@link GroupRow#SCHEMA}. */
  static BlockCounts readFrom(Row row) {
    BlockCounts counts = new BlockCounts();
    for (Metric metric : Metric.ALL) {
      int column = RowLayout.COLUMN[metric.ordinal()];
      if (!row.isNullAt(column)) {
        counts.values[metric.ordinal()] = ((Number) row.get(column)).longValue();
      }
    }
    return counts;
  }

  /** Adds a field for each metric. */
  void writeTo(ObjectNode json) {
    for (Metric metric : Metric.ALL) {
      if (!isAbsent(metric)) {
        json.put(metric.name, values[metric.ordinal()]);
      }
    }
  }
}
