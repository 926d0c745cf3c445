package topicwarden;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Counts while it reads: a row for each age band of a block of offsets; then a row of notes a range; then, where
 * records are counted by key, a row for each key of this task. Keys and values stay here.
 */
final class GroupReader extends RangeReader {
  /** The group, what is counted of every group, what of keys alone, and what of blocks alone. */
  static final StructType SCHEMA = StructType.fromDDL(
      "part INT, note STRING, keyed BOOLEAN, bucket BIGINT, "
          + "records BIGINT, rolled BIGINT, cleanable BIGINT, largest_record INT, "
          + "first_offset BIGINT, last_offset BIGINT, last_tombstone BIGINT, fits INT, "
          + "payload_bytes BIGINT, null_keys BIGINT, first_null_key BIGINT, tombstones BIGINT, empty_values BIGINT, "
          + "first_empty_value BIGINT, cleanable_bytes BIGINT, expired BIGINT, expired_behind_future BIGINT, "
          + "first_timestamp BIGINT, last_timestamp BIGINT");

  private static final long SEED = 42; // of Spark's xxhash64
  private static final int GROUP = 3;

  /** What is counted of one range and not told yet. */
  private static final class Open {
    final Counting.Borders borders;
    final Block[] bands;
    final Deque<Block> left = new ArrayDeque<>();
    long block = -1;
    boolean noted;

    Open(Counting.Borders borders, int bands) {
      this.borders = borders;
      this.bands = new Block[bands];
    }
  }

  private final Counting counting;
  private final long offsets;
  private final Map<Cursor, Open> opened = new HashMap<>();
  private final UnsafeRowWriter row = new UnsafeRowWriter(SCHEMA.size());
  private Keys keys;
  private Cursor at;
  private Open open;

  GroupReader(
      Map<String, Object> settings, List<OffsetRange> ranges, Counting counting, Contracts contracts, Pace pace) {
    super(settings, ranges, true, contracts, pace);
    this.counting = counting;
    this.offsets = ranges.stream().mapToLong(range -> range.end() - range.start()).sum();
  }

  @Override
  protected boolean taken(ConsumerRecord<byte[], byte[]> record) throws IOException {
    turnTo(cursor);
    byte[] key = record.key();
    byte[] value = record.value();
    int bytes = (key == null ? 0 : key.length) + (value == null ? 0 : value.length);
    if (key != null && open.borders.byKey()) {
      if (keys == null) {
        keys = new Keys(offsets);
      }
      long hash = XXH64.hashUnsafeBytes(key, Platform.BYTE_ARRAY_OFFSET, key.length, SEED);
      keys.add(cursor.range.part(), hash, record, bytes, open.borders, cursor.terms.partitions());
    }
    long block = Math.floorDiv(record.offset(), counting.block);
    if (block != open.block) {
      leave(open);
      open.block = block;
    }
    int band = counting.band(record.timestamp());
    if (open.bands[band] == null) {
      open.bands[band] = new Block(block * counting.bandsAtMost + band);
    }
    open.bands[band].add(record, bytes, open.borders);
    return told(open.left.poll());
  }

  /** A block is complete, as offsets only grow. */
  private static void leave(Open open) {
    for (int band = 0; band < open.bands.length; band++) {
      if (open.bands[band] != null) {
        open.left.add(open.bands[band]);
        open.bands[band] = null;
      }
    }
  }

  @Override
  protected boolean told(Cursor one) {
    turnTo(one);
    leave(open);
    if (told(open.left.poll())) {
      return true;
    }
    if (open.noted) {
      opened.remove(one);
      at = null;
      return false;
    }
    open.noted = true;
    note(one);
    return true;
  }

  private boolean told(Block block) {
    if (block == null) {
      return false;
    }
    block.write(row, at.range.part());
    return true;
  }

  private void note(Cursor one) {
    begin(row, one.range.part(), false, UTF8String.fromString(one.notes.told(one.range.start())));
    for (int field = GROUP; field < SCHEMA.size(); field++) {
      row.setNullAt(field);
    }
  }

  @Override
  protected boolean rest() throws IOException {
    return keys != null && keys.next(row);
  }

  /** Begins a row of {@link #SCHEMA}, whose other fields follow; {@code note} is null in most. */
  static void begin(UnsafeRowWriter row, int part, boolean keyed, UTF8String note) {
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

  private void turnTo(Cursor one) {
    if (one != at) {
      at = one;
      open = opened.computeIfAbsent(one, any ->
          new Open(counting.of(one.range.part()), (int) counting.bandsAtMost));
    }
  }

  @Override
  public InternalRow get() {
    return row.getRow();
  }

  @Override
  public void close() throws IOException {
    super.close();
    if (keys != null) {
      keys.close();
    }
  }
}
