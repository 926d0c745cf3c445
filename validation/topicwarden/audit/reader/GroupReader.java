package topicwarden;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * What was counted, group by group, where it is kept, or brought together with that of other tasks: a row for each age
 * band of a block of offsets; then a row of notes a range; then a row for each key of this task.
 */
final class GroupReader extends CountingReader {
  /** The group, what is counted of every group, what of keys alone, and what of blocks alone. */
  static final StructType SCHEMA = StructType.fromDDL(
      "part INT, note STRING, keyed BOOLEAN, bucket BIGINT, "
          + "records BIGINT, rolled BIGINT, cleanable BIGINT, largest_record INT, "
          + "first_offset BIGINT, last_offset BIGINT, last_tombstone BIGINT, fits INT, "
          + "payload_bytes BIGINT, null_keys BIGINT, first_null_key BIGINT, tombstones BIGINT, empty_values BIGINT, "
          + "first_empty_value BIGINT, cleanable_bytes BIGINT, expired BIGINT, expired_behind_future BIGINT, "
          + "first_timestamp BIGINT, last_timestamp BIGINT");

  private static final int GROUP = 3;

  private record Left(int part, long bucket, Block block) {}

  private final UnsafeRowWriter row = new UnsafeRowWriter(SCHEMA.size());
  private final Deque<Left> left = new ArrayDeque<>();
  private Cursor noted;

  GroupReader(
      Map<String, Object> settings, List<OffsetRange> ranges, Counting counting, Contracts contracts, Pace pace) {
    super(settings, ranges, counting, contracts, pace);
  }

  @Override
  protected void counted(int part, long number, int band, Block block) {
    left.add(new Left(part, number * counting.bandsAtMost + band, block));
  }

  @Override
  protected boolean ready() {
    Left one = left.poll();
    if (one == null) {
      return false;
    }
    begin(row, one.part(), false, null);
    row.write(GROUP, one.bucket());
    one.block().write(row);
    return true;
  }

  @Override
  protected boolean told(Cursor one) {
    leave(one);
    if (ready()) {
      return true;
    }
    if (one == noted) {
      return false;
    }
    noted = one;
    begin(row, one.range.part(), false, UTF8String.fromString(one.notes.told(one.range)));
    for (int field = GROUP; field < SCHEMA.size(); field++) {
      row.setNullAt(field);
    }
    return true;
  }

  @Override
  protected boolean rest() throws IOException {
    if (keys == null || !keys.next()) {
      return false;
    }
    begin(row, keys.part(), true, null);
    row.write(GROUP, keys.hash());
    row.write(4, keys.records());
    row.write(5, keys.rolled());
    row.write(6, keys.cleanable());
    row.write(7, keys.largestRecord());
    row.write(8, keys.firstOffset());
    row.write(9, keys.lastOffset());
    if (keys.deleted()) {
      row.write(10, keys.lastOffset());
    } else {
      row.setNullAt(10);
    }
    if (keys.fits() == Keys.UNASKED) {
      row.setNullAt(11);
    } else {
      row.write(11, keys.fits());
    }
    for (int field = 12; field < SCHEMA.size(); field++) {
      row.setNullAt(field); // these are of blocks
    }
    return true;
  }

  /** Begins a row of {@link #SCHEMA}, whose other fields follow; {@code note} is null in most. */
  private static void begin(UnsafeRowWriter row, int part, boolean keyed, UTF8String note) {
    row.reset();
    row.zeroOutNullBytes();
    row.write(0, part);
    if (note == null) {
      row.setNullAt(1);
    } else {
      row.write(1, note);
    }
    row.write(2, keyed);
  }

  @Override
  public InternalRow get() {
    return row.getRow();
  }
}
