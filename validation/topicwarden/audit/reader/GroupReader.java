package topicwarden;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Counts while it reads: a row for each age band of a block of offsets, and one or more for each key, where records are
 * counted by key; then a row of notes a range. Keys and values stay here. Spark brings the rows of a key together.
 */
final class GroupReader extends RangeReader {
  /** Keys of a range that are held at a time, each in the place of its hash: one that comes often makes few rows. */
  private static final int KEYS = 1 << 10;

  private static final long SEED = 42; // of Spark's xxhash64
  private static final int FIELDS = Group.SCHEMA.size();

  /** What is counted of one range and not told yet. */
  private static final class Open {
    final Counting.Borders borders;
    final Group[] keys;
    final Group[] bands;
    final Deque<Group> left = new ArrayDeque<>();
    long block = -1;
    int next;
    boolean noted;

    Open(Counting.Borders borders, int bands) {
      this.borders = borders;
      this.keys = borders.byKey() ? new Group[KEYS] : new Group[0];
      this.bands = new Group[bands];
    }
  }

  private final Counting counting;
  private final Map<Cursor, Open> opened = new HashMap<>();
  private final UnsafeRowWriter row = new UnsafeRowWriter(FIELDS);
  private Cursor at;
  private Open open;

  GroupReader(
      Map<String, Object> settings, List<OffsetRange> ranges, Counting counting, Contracts contracts, Pace pace) {
    super(settings, ranges, true, contracts, pace);
    this.counting = counting;
  }

  @Override
  protected boolean taken(ConsumerRecord<byte[], byte[]> record) {
    turnTo(cursor);
    byte[] key = record.key();
    if (key != null && open.borders.byKey()) {
      return ofKey(record, key);
    }
    return ofBlock(record);
  }

  private boolean ofKey(ConsumerRecord<byte[], byte[]> record, byte[] key) {
    long hash = XXH64.hashUnsafeBytes(key, Platform.BYTE_ARRAY_OFFSET, key.length, SEED);
    int slot = (int) hash & (KEYS - 1);
    Group group = open.keys[slot];
    boolean evicted = group != null && group.bucket != hash;
    if (group == null) {
      group = new Group();
      open.keys[slot] = group.begin(hash, true, fits(record, key));
    } else if (evicted) {
      group.write(row, cursor.range.part());
      group.begin(hash, true, fits(record, key));
    }
    group.add(record, open.borders);
    return evicted;
  }

  private int fits(ConsumerRecord<byte[], byte[]> record, byte[] key) {
    int partitions = cursor.terms.partitions();
    return partitions == 0 ? -1 : Partitioners.fits(key, record.partition(), partitions);
  }

  private boolean ofBlock(ConsumerRecord<byte[], byte[]> record) {
    long block = Math.floorDiv(record.offset(), counting.block);
    if (block != open.block) {
      leave(open);
      open.block = block;
    }
    int band = counting.band(record.timestamp());
    if (open.bands[band] == null) {
      open.bands[band] = new Group().begin(block * counting.bandsAtMost + band, false, -1);
    }
    open.bands[band].add(record, open.borders);
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
    while (open.next < open.keys.length) {
      if (told(open.keys[open.next++])) {
        return true;
      }
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

  private boolean told(Group group) {
    if (group == null) {
      return false;
    }
    group.write(row, at.range.part());
    return true;
  }

  private void note(Cursor one) {
    row.reset();
    row.zeroOutNullBytes();
    row.write(0, one.range.part());
    row.write(Group.NOTE, UTF8String.fromString(one.notes.told(one.range.start())));
    row.write(2, false);
    for (int field = Group.FIRST_COUNT; field < FIELDS; field++) {
      row.setNullAt(field);
    }
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
}
