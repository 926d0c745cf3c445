package io.topicwarden.reader.counting;

import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * A columnar batch of the key history. The history has many millions of rows, and few are needed:
 * creating a row object for each would dominate the run time.
 *
 * <p>Call {@link #moveTo}; then the methods of {@link KeyCounts} describe that row.
 */
final class KeyBatch implements KeyCounts {
  // The columns in the order of audit/history/key_store.py. Earlier keys have those before ROLLED.
  private static final int TOPIC_ID = 0;
  private static final int PARTITION = 1;
  private static final int HASH = 2;
  private static final int RECORDS = 3;
  private static final int LARGEST_RECORD = 4;
  private static final int FIRST_OFFSET = 5;
  private static final int ROLLED = 6;
  private static final int CLEANABLE = 7;
  private static final int LAST_OFFSET = 8;
  private static final int LAST_TOMBSTONE = 9;
  private static final int FITS = 10;
  private static final int SECOND_OFFSET = 11;

  private final ColumnVector[] columns;
  private final PartitionIds partitionIds;
  private int row;

  KeyBatch(ColumnarBatch batch, PartitionIds partitionIds) {
    this.columns = new ColumnVector[batch.numCols()];
    for (int i = 0; i < columns.length; i++) {
      columns[i] = batch.column(i);
    }
    this.partitionIds = partitionIds;
  }

  /** Returns the columnar batches of a DataFrame that only reads files. */
  static JavaRDD<ColumnarBatch> batches(Dataset<Row> rows) {
    return rows.queryExecution().sparkPlan().executeColumnar().toJavaRDD();
  }

  /** Returns the hashes of the first {@code rows} rows. */
  long[] hashes(int rows) {
    return columns[HASH].getLongs(0, rows);
  }

  void moveTo(int number) {
    row = number;
  }

  /** Returns {@link PartitionIds#NOT_SELECTED} for a partition that the audit does not select. */
  @Override
  public int partitionId() {
    return partitionIds.get(columns[TOPIC_ID].getUTF8String(row), columns[PARTITION].getInt(row));
  }

  @Override
  public long hash() {
    return columns[HASH].getLong(row);
  }

  @Override
  public long records() {
    return columns[RECORDS].getLong(row);
  }

  @Override
  public int largestRecord() {
    return columns[LARGEST_RECORD].getInt(row);
  }

  @Override
  public long firstOffset() {
    return columns[FIRST_OFFSET].getLong(row);
  }

  @Override
  public long secondOffset() {
    return columns[SECOND_OFFSET].isNullAt(row) ? NO_OFFSET : columns[SECOND_OFFSET].getLong(row);
  }

  @Override
  public long rolled() {
    return columns[ROLLED].getLong(row);
  }

  @Override
  public long cleanable() {
    return columns[CLEANABLE].getLong(row);
  }

  @Override
  public long lastOffset() {
    return columns[LAST_OFFSET].getLong(row);
  }

  @Override
  public boolean isDeleted() {
    return !columns[LAST_TOMBSTONE].isNullAt(row)
        && columns[LAST_TOMBSTONE].getLong(row) == lastOffset();
  }

  @Override
  public int fits() {
    return columns[FITS].isNullAt(row) ? Partitioners.NOT_CHECKED : columns[FITS].getInt(row);
  }
}
