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
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;

/**
 * What is counted of each key of a task, by its hash: a row a key, however many its records, and however many keys.
 *
 * <p>A key's group is counted in a table that stays in the processor's cache. One that gives way to another goes to the
 * lot of its hash; a lot that has grown is spilled to a file of Spark's. At the end each lot is brought together alone,
 * in the cache again. So no key is looked for all over the memory, and the memory does not grow with keys or records.
 */
final class Keys implements Closeable {
  // A group: a long each.
  private static final int BUCKET = 0;
  private static final int PLACE = 1; // the part's number, and which partitioners fit
  private static final int RECORDS = 2;
  private static final int ROLLED = 3;
  private static final int CLEANABLE = 4;
  private static final int FIRST = 5;
  private static final int LAST = 6;
  private static final int LARGEST = 7; // and in the lowest bit, whether the last record is a tombstone
  private static final int WIDTH = 8;

  private static final int TABLE = 1 << 12; // groups
  private static final int CHUNK = 1 << 8; // groups of a lot that are spilled at a time
  private static final int LOT = 1 << 14; // records of a lot, more or less
  private static final int MOST_LOTS = 1 << 10;
  private static final int UNASKED = -1;

  /** Groups of some hashes: {@code filled} of the last chunk, the others in the file. */
  private static final class Lot {
    long[] chunk = new long[CHUNK * WIDTH];
    int filled;
    long[] spilled = new long[4];
    int chunks;
  }

  private final long[] table = new long[TABLE * WIDTH];
  private final Lot[] lots;
  private final int shift;
  private final ByteBuffer scratch = ByteBuffer.allocateDirect(CHUNK * WIDTH * Long.BYTES);
  private FileChannel file;
  private long end;

  private int lot = -1;
  private long[] groups = {};
  private int at;

  /** {@code records}: about how many there will be. */
  Keys(long records) {
    long wanted = Math.max(1, Math.min(MOST_LOTS, records / LOT));
    int bits = Long.SIZE - Long.numberOfLeadingZeros(wanted - 1);
    lots = new Lot[1 << bits];
    shift = Long.SIZE - bits;
  }

  /**
   * Counts a record of {@code bytes} of key and value, whose key has {@code hash}. {@code partitions}: how many its
   * topic has, 0 where no partitioner is asked for.
   */
  void add(
      int part, long hash, ConsumerRecord<byte[], byte[]> record, int bytes, Counting.Borders borders, int partitions)
      throws IOException {
    int group = (int) (hash ^ part) & (TABLE - 1);
    int from = group * WIDTH;
    long offset = record.offset();
    if (table[from + RECORDS] == 0 || table[from + BUCKET] != hash || (int) (table[from + PLACE] >>> 32) != part) {
      if (table[from + RECORDS] > 0) {
        leave(from);
      }
      int fits = partitions == 0 ? UNASKED : Partitioners.fits(record.key(), record.partition(), partitions);
      table[from + BUCKET] = hash;
      table[from + PLACE] = (long) part << 32 | fits & 0xffffffffL;
      table[from + RECORDS] = table[from + ROLLED] = table[from + CLEANABLE] = table[from + LARGEST] = 0;
      table[from + FIRST] = offset;
    }
    table[from + RECORDS]++;
    table[from + LAST] = offset;
    table[from + LARGEST] = Math.max(table[from + LARGEST] >>> 1, bytes) << 1 | (record.value() == null ? 1 : 0);
    if (offset < borders.rolled()) {
      table[from + ROLLED]++;
    }
    if (offset < borders.cleanable()) {
      table[from + CLEANABLE]++;
    }
  }

  /** Takes a group from the table into its lot. */
  private void leave(int from) throws IOException {
    int number = shift == Long.SIZE ? 0 : (int) (table[from + BUCKET] >>> shift);
    Lot into = lots[number];
    if (into == null) {
      into = lots[number] = new Lot();
    }
    System.arraycopy(table, from, into.chunk, into.filled * WIDTH, WIDTH);
    if (++into.filled == CHUNK) {
      spill(into);
    }
  }

  private void spill(Lot full) throws IOException {
    if (file == null) {
      File held = SparkEnv.get().blockManager().diskBlockManager().createTempLocalBlock()._2();
      file = FileChannel.open(held.toPath(), StandardOpenOption.CREATE, StandardOpenOption.READ,
          StandardOpenOption.WRITE, StandardOpenOption.DELETE_ON_CLOSE);
    }
    scratch.clear();
    scratch.asLongBuffer().put(full.chunk);
    if (full.chunks == full.spilled.length) {
      full.spilled = Arrays.copyOf(full.spilled, 2 * full.chunks);
    }
    full.spilled[full.chunks++] = end;
    full.filled = 0;
    while (scratch.hasRemaining()) {
      end += file.write(scratch, end);
    }
    TaskContext.get().taskMetrics().incDiskBytesSpilled(scratch.capacity());
  }

  /** Writes the next key's row of {@link GroupReader#SCHEMA}; false where there is none left. */
  boolean next(UnsafeRowWriter row) throws IOException {
    if (lot < 0) {
      for (int from = 0; from < table.length; from += WIDTH) {
        if (table[from + RECORDS] > 0) {
          leave(from);
        }
      }
    }
    while (true) {
      while (at < groups.length) {
        int from = at;
        at += WIDTH;
        if (groups[from + RECORDS] > 0) {
          write(row, from);
          return true;
        }
      }
      if (++lot >= lots.length) {
        return false;
      }
      groups = lots[lot] == null ? new long[0] : loaded(lots[lot]);
      lots[lot] = null;
      at = 0;
      bringTogether();
    }
  }

  private long[] loaded(Lot one) throws IOException {
    int chunk = CHUNK * WIDTH;
    long[] held = new long[one.chunks * chunk + one.filled * WIDTH];
    for (int number = 0; number < one.chunks; number++) {
      scratch.clear();
      while (scratch.hasRemaining()) {
        if (file.read(scratch, one.spilled[number] + scratch.position()) < 0) {
          throw new IOException("what was spilled of the keys is gone");
        }
      }
      scratch.flip();
      scratch.asLongBuffer().get(held, number * chunk, chunk);
    }
    System.arraycopy(one.chunk, 0, held, one.chunks * chunk, one.filled * WIDTH);
    return held;
  }

  /** Adds the later groups of a key to its first one, and leaves them without records. */
  private void bringTogether() {
    int slots = Integer.highestOneBit(Math.max(1, groups.length / WIDTH)) << 2;
    int[] firsts = new int[slots]; // where the first group of a key lies, and 1; 0 is none
    for (int from = 0; from < groups.length; from += WIDTH) {
      long hash = groups[from + BUCKET];
      int slot = (int) (hash * 0x9E3779B97F4A7C15L >>> 32) & (slots - 1); // a lot's hashes begin alike
      while (firsts[slot] != 0 && !sameKey(firsts[slot] - 1, from)) {
        slot = slot + 1 & (slots - 1);
      }
      if (firsts[slot] == 0) {
        firsts[slot] = from + 1;
      } else {
        join(firsts[slot] - 1, from);
      }
    }
  }

  private boolean sameKey(int one, int other) {
    return groups[one + BUCKET] == groups[other + BUCKET] && groups[one + PLACE] >>> 32 == groups[other + PLACE] >>> 32;
  }

  /** A lot keeps the order of offsets: {@code more} is of later records. */
  private void join(int into, int more) {
    groups[into + RECORDS] += groups[more + RECORDS];
    groups[into + ROLLED] += groups[more + ROLLED];
    groups[into + CLEANABLE] += groups[more + CLEANABLE];
    groups[into + LAST] = groups[more + LAST];
    groups[into + LARGEST] =
        Math.max(groups[into + LARGEST] >>> 1, groups[more + LARGEST] >>> 1) << 1 | groups[more + LARGEST] & 1;
    groups[more + RECORDS] = 0;
  }

  private void write(UnsafeRowWriter row, int from) {
    GroupReader.begin(row, (int) (groups[from + PLACE] >>> 32), true, null);
    row.write(3, groups[from + BUCKET]);
    row.write(4, groups[from + RECORDS]);
    row.write(5, groups[from + ROLLED]);
    row.write(6, groups[from + CLEANABLE]);
    row.write(7, (int) (groups[from + LARGEST] >>> 1));
    row.write(8, groups[from + FIRST]);
    row.write(9, groups[from + LAST]);
    if ((groups[from + LARGEST] & 1) == 0) {
      row.setNullAt(10);
    } else {
      row.write(10, groups[from + LAST]);
    }
    int fits = (int) groups[from + PLACE];
    if (fits == UNASKED) {
      row.setNullAt(11);
    } else {
      row.write(11, fits);
    }
    for (int field = 12; field < GroupReader.SCHEMA.size(); field++) {
      row.setNullAt(field); // these are of blocks
    }
  }

  @Override
  public void close() throws IOException {
    if (file != null) {
      file.close();
    }
  }
}
