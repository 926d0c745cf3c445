package topicwarden;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;

/** What is counted of the records of one age band in a block of offsets. */
final class Block {
  private static final long NONE = -1;

  private final long bucket;
  private long records;
  private long payloadBytes;
  private int largestRecord;
  private long nullKeys;
  private long firstNullKey = NONE;
  private long tombstones;
  private long emptyValues;
  private long firstEmptyValue = NONE;
  private long rolled;
  private long cleanable;
  private long cleanableBytes;
  private long expired;
  private long expiredBehindFuture;
  private long firstTimestamp = Long.MAX_VALUE;
  private long lastTimestamp = Long.MIN_VALUE;

  /** {@code bucket}: the block's number and the band's, in one. */
  Block(long bucket) {
    this.bucket = bucket;
  }

  /** Counts a record of {@code bytes} of key and value, which comes after those before. */
  void add(ConsumerRecord<byte[], byte[]> record, int bytes, Counting.Borders borders) {
    long offset = record.offset();
    long time = record.timestamp();
    records++;
    payloadBytes += bytes;
    largestRecord = Math.max(largestRecord, bytes);
    if (record.key() == null && nullKeys++ == 0) {
      firstNullKey = offset;
    }
    if (record.value() == null) {
      tombstones++;
    } else if (record.value().length == 0 && emptyValues++ == 0) {
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

  /** Writes the row of {@link GroupReader#SCHEMA}. */
  void write(UnsafeRowWriter row, int part) {
    GroupReader.begin(row, part, false, null);
    row.write(3, bucket);
    row.write(4, records);
    row.write(5, rolled);
    row.write(6, cleanable);
    row.write(7, largestRecord);
    for (int field = 8; field < 12; field++) {
      row.setNullAt(field); // these are of keys
    }
    row.write(12, payloadBytes);
    row.write(13, nullKeys);
    offset(row, 14, firstNullKey);
    row.write(15, tombstones);
    row.write(16, emptyValues);
    offset(row, 17, firstEmptyValue);
    row.write(18, cleanableBytes);
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
