package topicwarden;

import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Rows of keys as the history keeps them, taken in Spark's columns: of many millions few are wanted, and a row for each
 * would cost more than all that is done with them.
 */
final class KeyColumns implements Key {
  // The columns, of which what is known of old keys ends before ROLLED.
  private static final int TOPIC_ID = 0;
  private static final int PARTITION = 1;
  private static final int BUCKET = 2;
  private static final int RECORDS = 3;
  private static final int LARGEST_RECORD = 4;
  private static final int FIRST_OFFSET = 5;
  private static final int ROLLED = 6;
  private static final int CLEANABLE = 7;
  private static final int LAST_OFFSET = 8;
  private static final int LAST_TOMBSTONE = 9;
  private static final int FITS = 10;

  private final ColumnVector[] columns;
  private final Places places;
  private int row;

  KeyColumns(ColumnarBatch batch, Places places) {
    this.columns = new ColumnVector[batch.numCols()];
    Arrays.setAll(columns, batch::column);
    this.places = places;
  }

  /** The columns of {@code rows}, which come from files and nothing else. */
  static JavaRDD<ColumnarBatch> of(Dataset<Row> rows) {
    return rows.queryExecution().sparkPlan().executeColumnar().toJavaRDD();
  }

  void turnTo(int number) {
    row = number;
  }

  /** {@link Places#NONE} where it is of a partition that is not asked for. */
  @Override
  public int part() {
    return places.of(columns[TOPIC_ID].getUTF8String(row), columns[PARTITION].getInt(row));
  }

  @Override
  public long hash() {
    return columns[BUCKET].getLong(row);
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
  public boolean deleted() {
    return !columns[LAST_TOMBSTONE].isNullAt(row) && columns[LAST_TOMBSTONE].getLong(row) == lastOffset();
  }

  @Override
  public int fits() {
    return columns[FITS].isNullAt(row) ? Keys.UNASKED : columns[FITS].getInt(row);
  }

  /** Longs that grow in number, a few at a time. */
  static final class Longs {
    private long[] held = new long[1 << 10];
    private int size;

    void add(long... more) {
      if (size + more.length > held.length) {
        held = Arrays.copyOf(held, 2 * held.length);
      }
      System.arraycopy(more, 0, held, size, more.length);
      size += more.length;
    }

    Iterator<long[]> all() {
      return Collections.singleton(Arrays.copyOf(held, size)).iterator();
    }
  }
}
