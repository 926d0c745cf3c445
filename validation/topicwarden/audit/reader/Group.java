package topicwarden;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.StructType;

/** What is counted of records that belong together: those of one key, or of one age band in a block of offsets. */
final class Group {
  static final StructType SCHEMA = StructType.fromDDL(
      "part INT, note STRING, keyed BOOLEAN, bucket BIGINT, fits INT, records BIGINT, payload_bytes BIGINT, "
          + "largest_record INT, null_keys BIGINT, first_null_key BIGINT, tombstones BIGINT, empty_values BIGINT, "
          + "first_empty_value BIGINT, rolled BIGINT, cleanable BIGINT, cleanable_bytes BIGINT, first_offset BIGINT, "
          + "last_offset BIGINT, last_tombstone BIGINT, expired BIGINT, expired_behind_future BIGINT, "
          + "first_timestamp BIGINT, last_timestamp BIGINT");
  static final int NOTE = 1;
  static final int FIRST_COUNT = 3;
  private static final long NONE = -1;
  private static final int UNKNOWN = -1;

  long bucket;
  private boolean keyed;
  private int fits;
  private long records;
  private long payloadBytes;
  private int largestRecord;
  private long nullKeys;
  private long firstNullKey;
  private long tombstones;
  private long emptyValues;
  private long firstEmptyValue;
  private long rolled;
  private long cleanable;
  private long cleanableBytes;
  private long firstOffset;
  private long lastOffset;
  private long lastTombstone;
  private long expired;
  private long expiredBehindFuture;
  private long firstTimestamp;
  private long lastTimestamp;

  /** Begins anew. {@code fits}: which partitioners put the key where it is; below zero where nobody asks. */
  Group begin(long newBucket, boolean byKey, int fitting) {
    bucket = newBucket;
    keyed = byKey;
    fits = fitting;
    records = payloadBytes = nullKeys = tombstones = emptyValues = 0;
    rolled = cleanable = cleanableBytes = expired = expiredBehindFuture = 0;
    largestRecord = 0;
    firstNullKey = firstEmptyValue = firstOffset = lastTombstone = NONE;
    firstTimestamp = Long.MAX_VALUE;
    lastTimestamp = Long.MIN_VALUE;
    return this;
  }

  /** Counts a record, which comes after those before. */
  void add(ConsumerRecord<byte[], byte[]> record, Counting.Borders borders) {
    byte[] key = record.key();
    byte[] value = record.value();
    long offset = record.offset();
    long time = record.timestamp();
    int bytes = (key == null ? 0 : key.length) + (value == null ? 0 : value.length);
    if (records++ == 0) {
      firstOffset = offset;
    }
    lastOffset = offset;
    payloadBytes += bytes;
    largestRecord = Math.max(largestRecord, bytes);
    if (key == null && nullKeys++ == 0) {
      firstNullKey = offset;
    }
    if (value == null) {
      tombstones++;
      lastTombstone = offset;
    } else if (value.length == 0 && emptyValues++ == 0) {
      firstEmptyValue = offset;
    }
    if (offset < borders.rolled()) {
      rolled++;
    }
    if (offset < borders.cleanable()) {
      cleanable++;
      cleanableBytes += bytes;
    }
    if (time < borders.expired()) {
      expired++;
      if (offset > borders.future()) {
        expiredBehindFuture++;
      }
    }
    firstTimestamp = Math.min(firstTimestamp, time);
    lastTimestamp = Math.max(lastTimestamp, time);
  }

  /** Writes the row of {@code SCHEMA}. */
  void write(UnsafeRowWriter row, int part) {
    row.reset();
    row.zeroOutNullBytes();
    row.write(0, part);
    row.setNullAt(NOTE);
    row.write(2, keyed);
    row.write(FIRST_COUNT, bucket);
    if (fits == UNKNOWN) {
      row.setNullAt(4);
    } else {
      row.write(4, fits);
    }
    row.write(5, records);
    row.write(6, payloadBytes);
    row.write(7, largestRecord);
    row.write(8, nullKeys);
    offset(row, 9, firstNullKey);
    row.write(10, tombstones);
    row.write(11, emptyValues);
    offset(row, 12, firstEmptyValue);
    row.write(13, rolled);
    row.write(14, cleanable);
    row.write(15, cleanableBytes);
    row.write(16, firstOffset);
    row.write(17, lastOffset);
    offset(row, 18, lastTombstone);
    row.write(19, expired);
    row.write(20, expiredBehindFuture);
    row.write(21, firstTimestamp);
    row.write(22, lastTimestamp);
  }

  private static void offset(UnsafeRowWriter row, int at, long offset) {
    if (offset == NONE) {
      row.setNullAt(at);
    } else {
      row.write(at, offset);
    }
  }
}
