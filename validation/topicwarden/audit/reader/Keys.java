package topicwarden;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;

/**
 * What is counted of each key of a task, by its hash: a group a key, however many its records, and however many keys.
 *
 * <p>A key's group is counted in a table that stays in the processor's cache. One that gives way to another goes to the
 * lot of its hash; a lot that has grown is spilled to a file of Spark's. At the end each lot is brought together alone,
 * in the cache again. So no key is looked for all over the memory, and the memory does not grow with keys or records.
 */
final class Keys implements Key, Closeable {
  /** Of {@link #fits}, where no partitioner is asked for. */
  static final int UNASKED = -1;

  // A group: a long each. In a lot one of a single record ends before RECORDS.
  private static final int BUCKET = 0;
  private static final int LAST = 1; // its offset, above three flags
  private static final int PLACE = 2; // the part's number, which partitioners fit, and the largest record
  private static final int RECORDS = 3;
  private static final int ROLLED = 4; // these three: not before there is a second record
  private static final int CLEANABLE = 5;
  private static final int FIRST = 6;
  private static final int WIDTH = 8;

  // Of the last record.
  private static final int FLAGS = 3;
  private static final int IS_TOMBSTONE = 1;
  private static final int IS_ROLLED = 2;
  private static final int IS_CLEANABLE = 4;
  private static final long SEVERAL = Long.MIN_VALUE; // of LAST in a lot: records, and all that follows

  private static final int FITS = 32; // bits of PLACE below
  private static final int PART = 38;
  private static final int ALL_FIT = 0x3f; // more than there are algorithms: not asked

  private static final int TABLE = 1 << 12; // groups
  private static final int CHUNK = 1 << 10; // longs of a lot that are spilled at a time
  private static final int LOT = 1 << 16; // records of a lot, more or less: few lots, as each has lines of the cache
  private static final int MOST_LOTS = 1 << 10;

  /** Where the chunks of a lot begin in the file. */
  private static final class Spilled {
    long[] chunks = new long[4];
    int number;
  }

  private final long[] table = new long[TABLE * WIDTH];
  private final long[] chunks; // of each lot the last one
  private final int[] ends; // how far each of them is filled
  private final Spilled[] spilled;
  private final int shift;
  private final ByteBuffer scratch = ByteBuffer.allocateDirect(CHUNK * Long.BYTES);
  private FileChannel file;
  private long end;

  private int lot = -1;
  private long[] loaded = {};
  private int[] places = {};
  private long[] groups = {};
  private int filled; // longs of the groups
  private int at = -WIDTH;

  /** {@code records}: about how many there will be. */
  Keys(long records) {
    long wanted = Math.max(1, Math.min(MOST_LOTS, records / LOT));
    int bits = Long.SIZE - Long.numberOfLeadingZeros(wanted - 1);
    chunks = new long[CHUNK << bits];
    ends = new int[1 << bits];
    spilled = new Spilled[1 << bits];
    shift = Long.SIZE - bits;
  }

  /**
   * Counts a record of {@code bytes} of key and value, whose key has {@code hash}. {@code partitions}: how many its
   * topic has, 0 where no partitioner is asked for.
   */
  void add(
      int part, long hash, ConsumerRecord<byte[], byte[]> record, int bytes, Counting.Borders borders, int partitions)
      throws IOException {
    long offset = record.offset();
    long last = offset << FLAGS
        | (record.value() == null ? IS_TOMBSTONE : 0)
        | (offset < borders.rolled() ? IS_ROLLED : 0)
        | (offset < borders.cleanable() ? IS_CLEANABLE : 0);
    int from = ((int) hash ^ part) * WIDTH & TABLE * WIDTH - 1;
    if (table[from + RECORDS] > 0 && table[from + BUCKET] == hash && table[from + PLACE] >>> PART == part) {
      several(table, from);
      table[from + RECORDS]++;
      table[from + ROLLED] += last >>> 1 & 1;
      table[from + CLEANABLE] += last >>> 2 & 1;
      table[from + LAST] = last;
      table[from + PLACE] = larger(table[from + PLACE], bytes);
      return;
    }
    if (table[from + RECORDS] > 0) {
      leave(from);
    }
    int fits = partitions == 0 ? UNASKED : Partitioners.fits(record.key(), record.partition(), partitions);
    table[from + BUCKET] = hash;
    table[from + LAST] = last;
    table[from + PLACE] = (long) part << PART | (long) (fits & ALL_FIT) << FITS | bytes;
    table[from + RECORDS] = 1;
  }

  /** Gives a group of one record what one of several has. */
  private static void several(long[] groups, int from) {
    if (groups[from + RECORDS] == 1) {
      long last = groups[from + LAST];
      groups[from + ROLLED] = last >>> 1 & 1;
      groups[from + CLEANABLE] = last >>> 2 & 1;
      groups[from + FIRST] = last >>> FLAGS;
    }
  }

  private static long larger(long place, long bytes) {
    return place & -1L << FITS | Math.max(place & ~(-1L << FITS), bytes & ~(-1L << FITS));
  }

  /** Takes a group from the table into its lot. */
  private void leave(int from) throws IOException {
    int lot = shift == Long.SIZE ? 0 : (int) (table[from + BUCKET] >>> shift);
    boolean one = table[from + RECORDS] == 1;
    put(lot, table[from + BUCKET]);
    put(lot, one ? table[from + LAST] : table[from + LAST] | SEVERAL);
    put(lot, table[from + PLACE]);
    if (!one) {
      put(lot, table[from + RECORDS]);
      put(lot, table[from + ROLLED]);
      put(lot, table[from + CLEANABLE]);
      put(lot, table[from + FIRST]);
    }
  }

  private void put(int lot, long one) throws IOException {
    chunks[lot * CHUNK + ends[lot]++] = one;
    if (ends[lot] == CHUNK) {
      spill(lot);
    }
  }

  private void spill(int lot) throws IOException {
    if (file == null) {
      File held = SparkEnv.get().blockManager().diskBlockManager().createTempLocalBlock()._2();
      file = FileChannel.open(held.toPath(), StandardOpenOption.CREATE, StandardOpenOption.READ,
          StandardOpenOption.WRITE, StandardOpenOption.DELETE_ON_CLOSE);
    }
    scratch.clear();
    scratch.asLongBuffer().put(chunks, lot * CHUNK, CHUNK);
    if (spilled[lot] == null) {
      spilled[lot] = new Spilled();
    }
    Spilled into = spilled[lot];
    if (into.number == into.chunks.length) {
      into.chunks = Arrays.copyOf(into.chunks, 2 * into.number);
    }
    into.chunks[into.number++] = end;
    ends[lot] = 0;
    while (scratch.hasRemaining()) {
      end += file.write(scratch, end);
    }
    TaskContext.get().taskMetrics().incDiskBytesSpilled(scratch.capacity());
  }

  /** Turns to the next key, of which the methods below tell; false where there is none left. */
  boolean next() throws IOException {
    if (lot < 0) {
      for (int from = 0; from < table.length; from += WIDTH) {
        if (table[from + RECORDS] > 0) {
          leave(from);
        }
      }
    }
    at += WIDTH;
    while (at >= filled) {
      if (++lot >= ends.length) {
        return false;
      }
      at = 0;
      filled = 0;
      bringTogether(load(lot));
    }
    return true;
  }

  /** Loads a lot, in the order in which its groups came; gives how many longs it is. */
  private int load(int lot) throws IOException {
    int before = spilled[lot] == null ? 0 : spilled[lot].number;
    int size = before * CHUNK + ends[lot];
    if (loaded.length < size) {
      loaded = new long[size + (size >> 2)];
    }
    for (int number = 0; number < before; number++) {
      scratch.clear();
      while (scratch.hasRemaining()) {
        if (file.read(scratch, spilled[lot].chunks[number] + scratch.position()) < 0) {
          throw new IOException("what was spilled of the keys is gone");
        }
      }
      scratch.flip();
      scratch.asLongBuffer().get(loaded, number * CHUNK, CHUNK);
    }
    System.arraycopy(chunks, lot * CHUNK, loaded, before * CHUNK, ends[lot]);
    spilled[lot] = null;
    return size;
  }

  /** Makes one group a key of what was loaded. */
  private void bringTogether(int size) {
    int slots = Integer.highestOneBit(Math.max(1, size / RECORDS)) << 2;
    if (places.length < slots) {
      places = new int[slots]; // where the group of a key lies, and 1; 0 is none
    } else {
      Arrays.fill(places, 0, slots, 0);
    }
    for (int from = 0; from < size; ) {
      boolean several = loaded[from + LAST] < 0;
      int slot = (int) (loaded[from + BUCKET] * 0x9E3779B97F4A7C15L >>> 32) & slots - 1; // a lot's hashes begin alike
      while (places[slot] != 0 && !sameKey(places[slot] - 1, from)) {
        slot = slot + 1 & slots - 1;
      }
      if (places[slot] == 0) {
        places[slot] = filled + 1;
        begin(from, several);
      } else {
        join(places[slot] - 1, from, several);
      }
      from += several ? FIRST + 1 : RECORDS;
    }
  }

  private boolean sameKey(int group, int from) {
    return groups[group + BUCKET] == loaded[from + BUCKET]
        && groups[group + PLACE] >>> PART == loaded[from + PLACE] >>> PART;
  }

  private void begin(int from, boolean several) {
    if (filled == groups.length) {
      groups = Arrays.copyOf(groups, Math.max(TABLE * WIDTH, 2 * filled));
    }
    System.arraycopy(loaded, from, groups, filled, several ? FIRST + 1 : RECORDS);
    if (several) {
      groups[filled + LAST] &= ~SEVERAL;
    } else {
      groups[filled + RECORDS] = 1;
      several(groups, filled);
    }
    filled += WIDTH;
  }

  /** A lot keeps the order of offsets: what comes later is of later records. */
  private void join(int into, int from, boolean several) {
    long last = loaded[from + LAST];
    groups[into + RECORDS] += several ? loaded[from + RECORDS] : 1;
    groups[into + ROLLED] += several ? loaded[from + ROLLED] : last >>> 1 & 1;
    groups[into + CLEANABLE] += several ? loaded[from + CLEANABLE] : last >>> 2 & 1;
    groups[into + LAST] = last & ~SEVERAL;
    groups[into + PLACE] = larger(groups[into + PLACE], loaded[from + PLACE]);
  }

  @Override
  public int part() {
    return (int) (groups[at + PLACE] >>> PART);
  }

  @Override
  public long hash() {
    return groups[at + BUCKET];
  }

  @Override
  public long records() {
    return groups[at + RECORDS];
  }

  @Override
  public long rolled() {
    return groups[at + ROLLED];
  }

  @Override
  public long cleanable() {
    return groups[at + CLEANABLE];
  }

  @Override
  public int largestRecord() {
    return (int) groups[at + PLACE];
  }

  @Override
  public long firstOffset() {
    return groups[at + FIRST];
  }

  @Override
  public long lastOffset() {
    return groups[at + LAST] >>> FLAGS;
  }

  @Override
  public boolean deleted() {
    return (groups[at + LAST] & IS_TOMBSTONE) != 0;
  }

  @Override
  public int fits() {
    int fits = (int) (groups[at + PLACE] >>> FITS) & ALL_FIT;
    return fits == ALL_FIT ? UNASKED : fits;
  }

  @Override
  public void close() throws IOException {
    if (file != null) {
      file.close();
    }
  }
}
