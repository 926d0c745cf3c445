package io.topicwarden.reader.source;

import io.topicwarden.reader.codecs.Contracts;
import io.topicwarden.reader.counting.Partitioners;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/** Returns a row for each record, then a row with the summary of each range if it is selected. */
class RecordReader extends RangeReader {
  static final StructType SCHEMA =
      StructType.fromDDL(
          "part INT, offset BIGINT, time BIGINT, key BINARY, value BINARY, fits INT, note STRING, "
              + "murmur2 INT, crc32 BIGINT, fnv1a INT");

  private enum Column {
    PART,
    OFFSET,
    TIME,
    KEY,
    VALUE,
    FITS,
    NOTE,
    MURMUR2,
    CRC32,
    FNV1A
  }

  private final Column[] columns;
  private final GenericInternalRow row;
  private RangeCursor lastSummarized;

  RecordReader(
      Map<String, Object> consumerSettings,
      List<OffsetRange> ranges,
      String[] columns,
      Contracts contracts,
      RateLimiter rateLimiter) {
    super(
        consumerSettings,
        ranges,
        Arrays.asList(columns).contains("note"),
        contracts,
        Long.MAX_VALUE,
        rateLimiter);
    this.columns =
        Arrays.stream(columns)
            .map(name -> Column.values()[SCHEMA.fieldIndex(name)])
            .toArray(Column[]::new);
    row = new GenericInternalRow(columns.length);
  }

  @Override
  protected boolean onRecord(ConsumerRecord<byte[], byte[]> record) {
    for (int i = 0; i < columns.length; i++) {
      row.update(i, value(columns[i], record));
    }
    return true;
  }

  private Object value(Column column, ConsumerRecord<byte[], byte[]> record) {
    byte[] key = record.key();
    return switch (column) {
      case PART -> cursor.range.partitionId();
      case OFFSET -> record.offset();
      case TIME -> record.timestamp();
      case KEY -> key;
      case VALUE -> record.value();
      case FITS ->
          key == null || cursor.contract.partitions() == 0
              ? null
              : (Integer) Partitioners.fits(key, record.partition(), cursor.contract.partitions());
      case MURMUR2 -> key == null ? null : (Integer) Partitioners.murmur2(key);
      case CRC32 -> key == null ? null : (Long) Partitioners.crc32(key);
      case FNV1A -> key == null ? null : (Integer) Partitioners.fnv1a(key);
      case NOTE -> null;
    };
  }

  @Override
  protected boolean onFinished(RangeCursor range) {
    if (range == lastSummarized) {
      return false;
    }
    lastSummarized = range;
    for (int i = 0; i < columns.length; i++) {
      row.update(
          i,
          switch (columns[i]) {
            case PART -> range.range.partitionId();
            case NOTE -> UTF8String.fromString(range.summary.toJson());
            default -> null;
          });
    }
    return true;
  }

  @Override
  public InternalRow get() {
    return row;
  }
}
