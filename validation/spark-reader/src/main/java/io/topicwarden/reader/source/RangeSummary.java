package io.topicwarden.reader.source;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.topicwarden.reader.Json;
import io.topicwarden.reader.codecs.Contracts.TopicContract;
import io.topicwarden.reader.codecs.FaultCounts;
import io.topicwarden.reader.codecs.SchemaIds;
import io.topicwarden.reader.counting.ArrivalCounts;
import io.topicwarden.reader.personal.PersonalFields;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.record.TimestampType;

/**
 * The gaps, timestamps, faults and schema ids of one offset range, in bounded memory. {@code
 * audit/scan/reader_notes.py} merges the summaries of a partition.
 */
final class RangeSummary {
  private static final long NO_GAP = -1;
  // Timestamps from 1973 to 5138 are plausible milliseconds. Others count in another unit.
  private static final long MIN_MILLIS = 100_000_000_000L;
  private static final long MAX_MILLIS = 100_000_000_000_000L;
  private static final long MAX_MICROS = 100_000_000_000_000_000L;

  private final OffsetRange range;
  private final long maxLateMs;
  private final FaultCounts faults;
  private final SchemaIds schemaIds;
  private final ArrivalCounts arrivals; // null if no number of records in a period is declared
  private final PersonalFields personal; // null if values are not JSON
  private final long[] recordsByType = new long[TimestampType.values().length];
  private final long[] lastOffsetByType = new long[recordsByType.length];
  private long newestTimestamp = Long.MIN_VALUE;
  private long oldestTimestamp = Long.MAX_VALUE;
  private long oldestTimestampOffset;
  private long nextOffset;
  private long lastGap = NO_GAP;
  private Long unreadFrom;
  private String unreadReason;

  /**
   * Creates the summary of a range before the first record is read.
   *
   * @param blockSize the number of offsets in a block by which schema ids and arrivals are counted
   */
  RangeSummary(OffsetRange range, TopicContract contract, long blockSize) {
    this.range = range;
    this.maxLateMs = contract.maxLateMs();
    this.nextOffset = range.start();
    this.schemaIds = new SchemaIds(blockSize);
    this.faults = new FaultCounts(contract.maxOffsets());
    this.arrivals =
        contract.arrivalMs() > 0 ? new ArrivalCounts(contract.arrivalMs(), blockSize) : null;
    this.personal =
        contract.personal() == null ? null : new PersonalFields(contract.personal(), blockSize);
  }

  FaultCounts faults() {
    return faults;
  }

  SchemaIds schemaIds() {
    return schemaIds;
  }

  /** Adds the offset and the timestamp of a record. Records come in the order of their offsets. */
  void add(ConsumerRecord<byte[], byte[]> record) {
    long offset = record.offset();
    long timestamp = record.timestamp();
    int type = record.timestampType().ordinal();
    recordsByType[type]++;
    lastOffsetByType[type] = offset;
    if (offset != nextOffset) {
      lastGap = offset - 1;
    }
    nextOffset = offset + 1;
    if (personal != null) {
      personal.add(offset, record.value());
    }
    if (timestamp < 0) {
      return; // a record of a message format without timestamps (before Kafka 0.10)
    }
    if (arrivals != null) {
      arrivals.add(offset, timestamp);
    }
    if (timestamp < MIN_MILLIS || timestamp > MAX_MILLIS) {
      faults.add("timestamp-unit", unit(timestamp), offset);
    }
    if (maxLateMs != Long.MAX_VALUE
        && newestTimestamp != Long.MIN_VALUE
        && newestTimestamp - timestamp > maxLateMs) {
      faults.add("timestamp-late", "older than declared", offset);
    }
    newestTimestamp = Math.max(newestTimestamp, timestamp);
    if (timestamp < oldestTimestamp) {
      oldestTimestamp = timestamp;
      oldestTimestampOffset = offset;
    }
  }

  private static String unit(long timestamp) {
    if (timestamp == 0) { // in any unit
      return "0: its producer sets no time";
    }
    if (timestamp < MIN_MILLIS) {
      return "seconds";
    }
    return timestamp <= MAX_MICROS ? "microseconds" : "nanoseconds";
  }

  /** Returns whether an offset before the last record has no record. */
  boolean hasGap() {
    return lastGap != NO_GAP;
  }

  /** Records why the range cannot be read from an offset on. */
  void giveUp(long offset, String reason) {
    unreadFrom = offset;
    unreadReason = reason;
  }

  /** Returns the last offset of the range without a record, or {@link #NO_GAP}. */
  private long lastGap() {
    return nextOffset < range.end() ? range.end() - 1 : lastGap;
  }

  /** Returns the summary of a range that has been read to its end, or given up. */
  String toJson() {
    ObjectNode json = Json.MAPPER.createObjectNode();
    json.put("start", range.start());
    json.put("last_gap", lastGap() == NO_GAP ? null : lastGap());
    if (unreadFrom != null) {
      json.put("unread_from", unreadFrom).put("unread_reason", unreadReason);
    }
    if (newestTimestamp != Long.MIN_VALUE) {
      json.put("highest", newestTimestamp).put("lowest", oldestTimestamp);
      json.put("lowest_offset", oldestTimestampOffset);
    }
    ObjectNode types = json.putObject("types");
    for (TimestampType type : TimestampType.values()) {
      long records = recordsByType[type.ordinal()];
      if (records > 0) {
        types.putArray(type.name).add(records).add(lastOffsetByType[type.ordinal()]);
      }
    }
    faults.writeTo(json.putArray("faults"));
    if (!schemaIds.isEmpty()) {
      schemaIds.writeTo(json.putObject("ids"));
    }
    if (arrivals != null && !arrivals.isEmpty()) {
      arrivals.writeTo(json.putArray("arrivals"));
    }
    if (personal != null && !personal.isEmpty()) {
      personal.writeTo(json.putArray("personal"));
    }
    return json.toString();
  }
}
