package io.topicwarden.reader.counting;

import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Counts records by interval of their timestamps and by block of offsets, in bounded memory. {@code
 * audit/scan/arrivals.py} adds the intervals up to periods of a calendar. A later audit needs the
 * blocks to leave out records that were deleted since.
 *
 * <p>Timestamps may be anything: after {@link #MAX_ROWS} rows, the records of further intervals are
 * counted without their interval. Records without a timestamp are not counted.
 */
public final class ArrivalCounts {
  static final int MAX_ROWS = 100_000;

  private static final class Row {
    final long block;
    final long interval;
    final boolean scattered;
    long records;

    Row(long block, long interval, boolean scattered) {
      this.block = block;
      this.interval = interval;
      this.scattered = scattered;
    }
  }

  private final long intervalMs;
  private final long blockSize;
  private final List<Row> rows = new ArrayList<>();
  private final Map<Long, Row> inBlock = new HashMap<>();
  private long block = -1;
  private Row last;
  private Row scattered;

  /**
   * Creates the counts of an offset range.
   *
   * @param intervalMs the length of an interval; intervals start at multiples of it since the epoch
   * @param blockSize the number of offsets in a block
   */
  public ArrivalCounts(long intervalMs, long blockSize) {
    this.intervalMs = intervalMs;
    this.blockSize = blockSize;
  }

  /** Counts a record with a timestamp that is not negative. Offsets come in ascending order. */
  public void add(long offset, long timestamp) {
    long ofRecord = Math.floorDiv(offset, blockSize);
    if (ofRecord != block) {
      block = ofRecord;
      inBlock.clear();
      last = null;
      scattered = null;
    }
    long interval = timestamp - timestamp % intervalMs;
    if (last == null || last.interval != interval) { // most records are of the interval of the last
      Row known = inBlock.get(interval);
      last = known == null ? newRow(interval) : known;
    }
    last.records++;
    if (last.scattered) {
      last = null;
    }
  }

  private Row newRow(long interval) {
    if (rows.size() < MAX_ROWS) {
      Row row = new Row(block, interval, false);
      rows.add(row);
      inBlock.put(interval, row);
      return row;
    }
    if (scattered == null) { // one more row for each block
      scattered = new Row(block, 0, true);
      rows.add(scattered);
    }
    return scattered;
  }

  /** Returns whether no record was counted. */
  public boolean isEmpty() {
    return rows.isEmpty();
  }

  /** Appends arrays of block, start of the interval (ms) or null, and number of records. */
  public void writeTo(ArrayNode json) {
    for (Row row : rows) {
      ArrayNode values = json.addArray().add(row.block);
      if (row.scattered) {
        values.addNull();
      } else {
        values.add(row.interval);
      }
      values.add(row.records);
    }
  }
}
