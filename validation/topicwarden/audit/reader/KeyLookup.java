package topicwarden;

import java.io.Serializable;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Looks for the keys that were read among all that are known, and adds them up. The few that were read are held here
 * and by each executor; those that are known go by.
 */
public final class KeyLookup {
  // What is held of a key: a long each.
  private static final int PART = 0;
  private static final int BUCKET = 1;
  private static final int RECORDS = 2;
  private static final int ROLLED = 3;
  private static final int CLEANABLE = 4;
  private static final int LARGEST = 5;
  private static final int FIRST = 6;
  private static final int LAST = 7; // and in the lowest bit, whether that record is a tombstone
  private static final int FITS = 8;
  private static final int WAS_RECORDS = 9; // 0 where it was not known
  private static final int WAS_LARGEST = 10;
  private static final int WIDTH = 11;

  private static final int MATCH = 4; // longs: which key, and its records, largest record and first offset as known

  /** Where each key is, by its hash: an index and 1 in the first free slot from {@link #slot} on. */
  private record Index(int[] slots, long[] hashes, int[] parts) implements Serializable {
    private int slot(long hash) {
      return (int) (hash * 0x9E3779B97F4A7C15L >>> 32) & slots.length - 1;
    }

    /** The key that {@code keys} tells of, -1 where it is none of these. */
    int of(KeyColumns keys) {
      long hash = keys.hash();
      int part = Places.NONE;
      for (int slot = slot(hash); slots[slot] != 0; slot = slot + 1 & slots.length - 1) {
        int at = slots[slot] - 1;
        if (hashes[at] == hash) {
          part = part == Places.NONE ? keys.part() : part;
          if (parts[at] == part) {
            return at;
          }
        }
      }
      return -1;
    }
  }

  private final Counting counting;
  private final long[] keys;
  private int count;
  private final Broadcast<Index> index;

  /**
   * Takes what was {@code read}, one lot of its keys of {@code lots}: rows of {@link KeyColumns} in files, of the
   * partitions in {@code places}; {@code counting}: how it was counted, as {@link Counting} takes it.
   */
  public KeyLookup(Dataset<Row> read, String places, String counting, int lot, int lots) {
    this.counting = new Counting(counting);
    Places known = new Places(places);
    List<long[]> taken = KeyColumns.of(read).mapPartitions(batches -> taken(batches, known, lot, lots)).collect();
    int most = taken.stream().mapToInt(some -> some.length / WIDTH).sum();
    keys = new long[most * WIDTH];
    Index built =
        new Index(new int[Integer.highestOneBit(Math.max(1, most)) << 2], new long[most], new int[most]);
    for (long[] some : taken) {
      for (int from = 0; from < some.length; from += WIDTH) {
        hold(some, from, built);
      }
    }
    index = new JavaSparkContext(read.sparkSession().sparkContext()).broadcast(built);
  }

  private static Iterator<long[]> taken(Iterator<ColumnarBatch> batches, Places places, int lot, int lots) {
    KeyColumns.Longs taken = new KeyColumns.Longs();
    batches.forEachRemaining(batch -> {
      KeyColumns one = new KeyColumns(batch, places);
      for (int row = 0; row < batch.numRows(); row++) {
        one.turnTo(row);
        int part = Math.floorMod(one.hash(), lots) == lot ? one.part() : Places.NONE;
        if (part != Places.NONE) {
          taken.add(
              part, one.hash(), one.records(), one.rolled(), one.cleanable(), one.largestRecord(), one.firstOffset(),
              one.lastOffset() << 1 | (one.deleted() ? 1 : 0), one.fits(), 0, 0);
        }
      }
    });
    return taken.all();
  }

  /** Holds a key; where another task read of it too, both together. */
  private void hold(long[] some, int from, Index built) {
    int slot = built.slot(some[from + BUCKET]);
    while (built.slots[slot] != 0) {
      int at = (built.slots[slot] - 1) * WIDTH;
      if (keys[at + BUCKET] == some[from + BUCKET] && keys[at + PART] == some[from + PART]) {
        keys[at + RECORDS] += some[from + RECORDS];
        keys[at + ROLLED] += some[from + ROLLED];
        keys[at + CLEANABLE] += some[from + CLEANABLE];
        keys[at + LARGEST] = Math.max(keys[at + LARGEST], some[from + LARGEST]);
        keys[at + FIRST] = Math.min(keys[at + FIRST], some[from + FIRST]);
        keys[at + LAST] = Math.max(keys[at + LAST], some[from + LAST]);
        return;
      }
      slot = slot + 1 & built.slots.length - 1;
    }
    System.arraycopy(some, from, keys, count * WIDTH, WIDTH);
    built.hashes[count] = some[from + BUCKET];
    built.parts[count] = (int) some[from + PART];
    built.slots[slot] = ++count;
  }

  /** Looks through keys that were {@code known}, of the partitions in {@code places}: rows of {@link KeyColumns}. */
  public void find(Dataset<Row> known, String places) {
    Places asked = new Places(places);
    Broadcast<Index> held = index;
    JavaRDD<long[]> matches = KeyColumns.of(known).mapPartitions(batches -> found(batches, asked, held.value()));
    for (long[] some : matches.collect()) {
      for (int from = 0; from < some.length; from += MATCH) {
        int at = (int) some[from] * WIDTH;
        keys[at + WAS_RECORDS] += some[from + 1];
        keys[at + WAS_LARGEST] = Math.max(keys[at + WAS_LARGEST], some[from + 2]);
        keys[at + FIRST] = Math.min(keys[at + FIRST], some[from + 3]);
      }
    }
  }

  private static Iterator<long[]> found(Iterator<ColumnarBatch> batches, Places places, Index index) {
    KeyColumns.Longs found = new KeyColumns.Longs();
    batches.forEachRemaining(batch -> {
      KeyColumns one = new KeyColumns(batch, places);
      for (int row = 0; row < batch.numRows(); row++) {
        one.turnTo(row);
        int key = index.of(one);
        if (key >= 0) {
          found.add(key, one.records(), one.largestRecord(), one.firstOffset());
        }
      }
    });
    return found.all();
  }

  /** Adds up the keys, with what was known of them: a line of {@link Totals} a part. */
  public String totals() {
    index.destroy();
    Totals totals = new Totals(counting);
    for (int at = 0; at < count * WIDTH; at += WIDTH) {
      KeyTotals into = totals.keys((int) keys[at + PART]);
      int fits = (int) keys[at + FITS];
      long was = keys[at + WAS_RECORDS];
      into.add(
          keys[at + BUCKET], keys[at + RECORDS] + was, keys[at + ROLLED], keys[at + CLEANABLE],
          (int) Math.max(keys[at + LARGEST], keys[at + WAS_LARGEST]), keys[at + FIRST], keys[at + LAST] >>> 1,
          (keys[at + LAST] & 1) != 0, fits);
      if (was > 0) {
        into.was(was, (int) keys[at + WAS_LARGEST], fits);
      }
    }
    return totals.lines();
  }

  /** Adds up keys of which nothing was known: rows of {@link KeyColumns}, a row a key; a line of {@link Totals} a part. */
  public static String ofNew(Dataset<Row> read, String places, String counting) {
    Places asked = new Places(places);
    return String.join("\n", KeyColumns.of(read).mapPartitions(batches -> {
      Totals totals = new Totals(new Counting(counting));
      batches.forEachRemaining(batch -> {
        KeyColumns one = new KeyColumns(batch, asked);
        for (int row = 0; row < batch.numRows(); row++) {
          one.turnTo(row);
          int part = one.part();
          if (part != Places.NONE) {
            totals.keys(part).add(one);
          }
        }
      });
      return Arrays.asList(totals.lines()).iterator();
    }).filter(lines -> !lines.isEmpty()).collect());
  }
}
