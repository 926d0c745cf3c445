package io.topicwarden.reader.counting;

import java.util.BitSet;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * A Spark row with the counts of one group: of an age band in an offset block, or of a key. A third
 * kind of row carries the summary of an offset range in {@code note}.
 *
 * <p>Spark's GROUP BY merges the groups of several tasks. The Python side names the columns that
 * are a minimum or a maximum; it adds up the others.
 */
public final class GroupRow {
  private static final List<String> GROUP_COLUMNS =
      List.of("part INT", "note STRING", "keyed BOOLEAN", "bucket BIGINT");
  private static final List<String> KEY_COLUMNS =
      List.of(
          "records BIGINT",
          "rolled BIGINT",
          "cleanable BIGINT",
          "largest_record INT",
          "first_offset BIGINT",
          "second_offset BIGINT",
          "last_offset BIGINT",
          "last_tombstone BIGINT",
          "fits INT");

  /** The columns: the group, the counts of keys, the counts of offset blocks. */
  public static final StructType SCHEMA =
      StructType.fromDDL(
          Stream.of(GROUP_COLUMNS, KEY_COLUMNS, BlockCounts.COLUMNS)
              .flatMap(List::stream)
              .distinct()
              .collect(Collectors.joining(", ")));

  static final int PARTITION_ID = SCHEMA.fieldIndex("part");
  static final int SUMMARY = SCHEMA.fieldIndex("note");
  static final int IS_KEY = SCHEMA.fieldIndex("keyed");
  static final int GROUP = SCHEMA.fieldIndex("bucket");
  static final int RECORDS = SCHEMA.fieldIndex("records");
  static final int ROLLED = SCHEMA.fieldIndex("rolled");
  static final int CLEANABLE = SCHEMA.fieldIndex("cleanable");
  static final int LARGEST_RECORD = SCHEMA.fieldIndex("largest_record");
  static final int FIRST_OFFSET = SCHEMA.fieldIndex("first_offset");
  static final int SECOND_OFFSET = SCHEMA.fieldIndex("second_offset");
  static final int LAST_OFFSET = SCHEMA.fieldIndex("last_offset");
  static final int LAST_TOMBSTONE = SCHEMA.fieldIndex("last_tombstone");
  static final int FITS = SCHEMA.fieldIndex("fits");

  private final UnsafeRowWriter writer = new UnsafeRowWriter(SCHEMA.size());
  private final BitSet written = new BitSet(SCHEMA.size());

  /**
   * Writes the counts of an age band in an offset block.
   *
   * @param group the number of the offset block and the age band
   */
  public void writeBlock(int partitionId, long group, BlockCounts counts) {
    begin(partitionId);
    put(IS_KEY, false);
    put(GROUP, group);
    counts.writeTo(this);
    end();
  }

  /** Writes the summary of an offset range. */
  public void writeSummary(int partitionId, String summary) {
    begin(partitionId);
    put(SUMMARY, summary);
    put(IS_KEY, false);
    end();
  }

  /** Writes the counts of a key. */
  public void writeKey(KeyCounts key) {
    begin(key.partitionId());
    put(IS_KEY, true);
    put(GROUP, key.hash());
    put(RECORDS, key.records());
    put(ROLLED, key.rolled());
    put(CLEANABLE, key.cleanable());
    put(LARGEST_RECORD, key.largestRecord());
    put(FIRST_OFFSET, key.firstOffset());
    if (key.secondOffset() != KeyCounts.NO_OFFSET) {
      put(SECOND_OFFSET, key.secondOffset());
    }
    put(LAST_OFFSET, key.lastOffset());
    if (key.isDeleted()) {
      put(LAST_TOMBSTONE, key.lastOffset());
    }
    if (key.fits() != Partitioners.NOT_CHECKED) {
      put(FITS, key.fits());
    }
    end();
  }

  private void begin(int partitionId) {
    writer.reset();
    writer.zeroOutNullBytes();
    written.clear();
    put(PARTITION_ID, partitionId);
  }

  void put(int column, int value) {
    writer.write(column, value);
    written.set(column);
  }

  void put(int column, long value) {
    writer.write(column, value);
    written.set(column);
  }

  private void put(int column, boolean value) {
    writer.write(column, value);
    written.set(column);
  }

  private void put(int column, String value) {
    writer.write(column, UTF8String.fromString(value));
    written.set(column);
  }

  /** A column is null or written, never both: a write does not clear the null bit. */
  private void end() {
    int size = SCHEMA.size();
    for (int column = written.nextClearBit(0);
        column < size;
        column = written.nextClearBit(column + 1)) {
      writer.setNullAt(column);
    }
  }

  /** Returns the written row, which the next write overwrites. */
  public InternalRow row() {
    return writer.getRow();
  }

  /** Returns the counts of a key in a row that Spark merged. */
  static KeyCounts keyOf(Row row) {
    return new KeyCounts() {
      @Override
      public int partitionId() {
        return row.getInt(PARTITION_ID);
      }

      @Override
      public long hash() {
        return row.getLong(GROUP);
      }

      @Override
      public long records() {
        return row.getLong(RECORDS);
      }

      @Override
      public long rolled() {
        return row.getLong(ROLLED);
      }

      @Override
      public long cleanable() {
        return row.getLong(CLEANABLE);
      }

      @Override
      public int largestRecord() {
        return row.getInt(LARGEST_RECORD);
      }

      @Override
      public long firstOffset() {
        return row.getLong(FIRST_OFFSET);
      }

      @Override
      public long secondOffset() {
        return row.isNullAt(SECOND_OFFSET) ? NO_OFFSET : row.getLong(SECOND_OFFSET);
      }

      @Override
      public long lastOffset() {
        return row.getLong(LAST_OFFSET);
      }

      @Override
      public boolean isDeleted() {
        return !row.isNullAt(LAST_TOMBSTONE) && row.getLong(LAST_TOMBSTONE) == lastOffset();
      }

      @Override
      public int fits() {
        return row.isNullAt(FITS) ? Partitioners.NOT_CHECKED : row.getInt(FITS);
      }
    };
  }
}
