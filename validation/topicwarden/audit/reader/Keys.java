package topicwarden;

import java.io.IOException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.execution.UnsafeFixedWidthAggregationMap;
import org.apache.spark.sql.execution.UnsafeKVExternalSorter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.KVIterator;

/**
 * What is counted of each key of a task, by its hash: a row a key, however many its records. It lies in the map of
 * Spark's own aggregation, in the task's share of Spark's memory; what does not fit is spilled, and met again at the end.
 */
final class Keys {
  private static final StructType KEY = StructType.fromDDL("part INT, bucket BIGINT");
  private static final StructType COUNTS = StructType.fromDDL(
      "records BIGINT, rolled BIGINT, cleanable BIGINT, largest_record INT, first_offset BIGINT, last_offset BIGINT, "
          + "last_tombstone BIGINT, fits INT");
  private static final int RECORDS = 0;
  private static final int ROLLED = 1;
  private static final int CLEANABLE = 2;
  private static final int LARGEST = 3;
  private static final int FIRST = 4;
  private static final int LAST = 5;
  private static final int TOMBSTONE = 6;
  private static final int FITS = 7;

  private static final long NONE = -1;
  private static final int UNASKED = -1;
  private static final int CAPACITY = 1 << 10; // to begin with

  private final UnsafeFixedWidthAggregationMap map;
  private final UnsafeRow key = new UnsafeRow(2);
  private UnsafeKVExternalSorter spilled;
  private KVIterator<UnsafeRow, UnsafeRow> left;
  private boolean ahead;

  Keys() {
    TaskContext task = TaskContext.get();
    GenericInternalRow nothing = new GenericInternalRow(new Object[] {0L, 0L, 0L, 0, 0L, 0L, NONE, UNASKED});
    long page = task.taskMemoryManager().pageSizeBytes();
    map = new UnsafeFixedWidthAggregationMap(nothing, COUNTS, KEY, task, CAPACITY, page);
    int size = UnsafeRow.calculateBitSetWidthInBytes(2) + 2 * Long.BYTES;
    key.pointTo(new byte[size], size);
  }

  /** Counts a record of {@code bytes} of key and value; {@code partitions}: of its topic, 0 where no partitioner is asked for. */
  void add(int part, long hash, ConsumerRecord<byte[], byte[]> record, int bytes, Counting.Borders borders, int partitions)
      throws IOException {
    long offset = record.offset();
    UnsafeRow counts = of(part, hash);
    long records = counts.getLong(RECORDS);
    if (records == 0) {
      counts.setLong(FIRST, offset);
      counts.setInt(FITS, partitions == 0 ? UNASKED : Partitioners.fits(record.key(), record.partition(), partitions));
    }
    counts.setLong(RECORDS, records + 1);
    counts.setLong(LAST, offset);
    if (bytes > counts.getInt(LARGEST)) {
      counts.setInt(LARGEST, bytes);
    }
    if (record.value() == null) {
      counts.setLong(TOMBSTONE, offset);
    }
    if (offset < borders.rolled()) {
      counts.setLong(ROLLED, counts.getLong(ROLLED) + 1);
    }
    if (offset < borders.cleanable()) {
      counts.setLong(CLEANABLE, counts.getLong(CLEANABLE) + 1);
    }
  }

  private UnsafeRow of(int part, long hash) throws IOException {
    key.setInt(0, part);
    key.setLong(1, hash);
    UnsafeRow counts = map.getAggregationBufferFromUnsafeRow(key, (int) hash);
    if (counts == null) {
      spill();
      counts = map.getAggregationBufferFromUnsafeRow(key, (int) hash);
    }
    if (counts == null) {
      throw new IOException("no memory for the keys of a task: give Spark's executors more of it, or fewer cores");
    }
    return counts;
  }

  private void spill() throws IOException {
    UnsafeKVExternalSorter sorter = map.destructAndCreateExternalSorter();
    if (spilled == null) {
      spilled = sorter;
    } else {
      spilled.merge(sorter);
    }
  }

  /** Writes the next key's row of {@link GroupReader#SCHEMA}; false where there is none left. */
  boolean next(UnsafeRowWriter row) throws IOException {
    if (left == null) {
      begin();
    }
    if (!ahead && !left.next()) {
      return false;
    }
    ahead = false;
    if (spilled == null) {
      write(row, left.getKey(), left.getValue());
      return true;
    }
    UnsafeRow one = left.getKey().copy();
    UnsafeRow counts = left.getValue().copy();
    while (left.next()) {
      if (!left.getKey().equals(one)) {
        ahead = true;
        break;
      }
      join(counts, left.getValue());
    }
    write(row, one, counts);
    return true;
  }

  private void begin() throws IOException {
    if (spilled == null) {
      left = map.iterator();
    } else {
      spill();
      map.free();
      left = spilled.sortedIterator();
    }
  }

  private static void join(UnsafeRow counts, UnsafeRow more) {
    for (int field : new int[] {RECORDS, ROLLED, CLEANABLE}) {
      counts.setLong(field, counts.getLong(field) + more.getLong(field));
    }
    counts.setInt(LARGEST, Math.max(counts.getInt(LARGEST), more.getInt(LARGEST)));
    counts.setLong(FIRST, Math.min(counts.getLong(FIRST), more.getLong(FIRST)));
    for (int field : new int[] {LAST, TOMBSTONE}) {
      counts.setLong(field, Math.max(counts.getLong(field), more.getLong(field)));
    }
  }

  private static void write(UnsafeRowWriter row, UnsafeRow one, UnsafeRow counts) {
    GroupReader.begin(row, one.getInt(0), true, null);
    row.write(3, one.getLong(1));
    row.write(4, counts.getLong(RECORDS));
    row.write(5, counts.getLong(ROLLED));
    row.write(6, counts.getLong(CLEANABLE));
    row.write(7, counts.getInt(LARGEST));
    row.write(8, counts.getLong(FIRST));
    row.write(9, counts.getLong(LAST));
    if (counts.getLong(TOMBSTONE) == NONE) {
      row.setNullAt(10);
    } else {
      row.write(10, counts.getLong(TOMBSTONE));
    }
    if (counts.getInt(FITS) == UNASKED) {
      row.setNullAt(11);
    } else {
      row.write(11, counts.getInt(FITS));
    }
    for (int field = 12; field < GroupReader.SCHEMA.size(); field++) {
      row.setNullAt(field); // these are of blocks
    }
  }

  void free() {
    map.free();
    if (spilled != null) {
      spilled.cleanupResources();
    }
  }
}
