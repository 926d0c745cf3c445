package topicwarden;

import com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;

/** What is counted of the records of one age band, in a block of offsets or in all of them. */
final class Block {
  private static final long NONE = -1;

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

  /** Adds what was counted of other records. */
  void add(Block more) {
    records += more.records;
    payloadBytes += more.payloadBytes;
    largestRecord = Math.max(largestRecord, more.largestRecord);
    nullKeys += more.nullKeys;
    firstNullKey = first(firstNullKey, more.firstNullKey);
    tombstones += more.tombstones;
    emptyValues += more.emptyValues;
    firstEmptyValue = first(firstEmptyValue, more.firstEmptyValue);
    rolled += more.rolled;
    cleanable += more.cleanable;
    cleanableBytes += more.cleanableBytes;
    expired += more.expired;
    expiredBehindFuture += more.expiredBehindFuture;
    firstTimestamp = Math.min(firstTimestamp, more.firstTimestamp);
    lastTimestamp = Math.max(lastTimestamp, more.lastTimestamp);
  }

  private static long first(long one, long other) {
    return one == NONE ? other : other == NONE ? one : Math.min(one, other);
  }

  /** Writes the fields of a row of {@link GroupReader#SCHEMA} after the group's. */
  void write(UnsafeRowWriter row) {
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

  /** What {@link #write} wrote, whatever else the row holds. */
  static Block of(Row row) {
    Block read = new Block();
    read.records = row.getLong(4);
    read.rolled = row.getLong(5);
    read.cleanable = row.getLong(6);
    read.largestRecord = row.getInt(7);
    read.payloadBytes = row.getLong(12);
    read.nullKeys = row.getLong(13);
    read.firstNullKey = offset(row, 14);
    read.tombstones = row.getLong(15);
    read.emptyValues = row.getLong(16);
    read.firstEmptyValue = offset(row, 17);
    read.cleanableBytes = row.getLong(18);
    read.expired = row.getLong(19);
    read.expiredBehindFuture = row.getLong(20);
    read.firstTimestamp = row.getLong(21);
    read.lastTimestamp = row.getLong(22);
    return read;
  }

  private static long offset(Row row, int at) {
    return row.isNullAt(at) ? NONE : row.getLong(at);
  }

  long lastTimestamp() {
    return lastTimestamp;
  }

  void tell(ObjectNode told) {
    told.put("records", records).put("rolled", rolled).put("cleanable", cleanable);
    told.put("cleanable_bytes", cleanableBytes).put("payload_bytes", payloadBytes);
    told.put("largest_record", largestRecord).put("tombstones", tombstones);
    told.put("null_keys", nullKeys).put("empty_values", emptyValues);
    tell(told, "first_null_key", firstNullKey);
    tell(told, "first_empty_value", firstEmptyValue);
    told.put("expired", expired).put("expired_behind_future", expiredBehindFuture);
    told.put("first_timestamp", firstTimestamp).put("last_timestamp", lastTimestamp);
  }

  private static void tell(ObjectNode told, String name, long offset) {
    if (offset != NONE) {
      told.put(name, offset);
    }
  }
}
