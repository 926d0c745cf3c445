package io.topicwarden.reader.counting;

import java.io.Serializable;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Finds the keys that this audit read among all earlier keys, and adds both up. The keys that were
 * read are in memory, here and on every executor. The earlier keys, which are many more, are
 * streamed. {@code audit/history/key_store.py} calls the public methods.
 */
public final class KeyLookup {
  // An entry for each key.
  private static final int PARTITION_ID = 0;
  private static final int HASH = 1;
  private static final int RECORDS = 2;
  private static final int ROLLED = 3;
  private static final int CLEANABLE = 4;
  private static final int LARGEST = 5;
  private static final int FIRST = 6;
  private static final int LAST = 7; // the offset; the lowest bit is set for a tombstone
  private static final int FITS = 8;
  private static final int EARLIER_RECORDS = 9; // 0 if there is no earlier key
  private static final int EARLIER_LARGEST = 10;
  private static final int EARLIER_FIRST = 11;
  private static final int SECOND = 12;
  private static final int ENTRY_LENGTH = 13;

  // A match: the number of the entry, and what is known of the earlier key.
  private static final int MATCH_LENGTH = 4;

  /**
   * An open-addressing hash index: a slot has the number of an entry plus one, or 0, and its hash.
   * The slots are in the order of the hashes, as the rows of the history nearly are (see {@link
   * KeyTable}): the slots of successive keys are near each other, and in the processor's cache.
   */
  record Index(int[] slots, long[] hashes, int[] partitionIds) implements Serializable {
    static final int NOT_FOUND = -1;

    static Index forKeys(int maxKeys) {
      int slots = Integer.highestOneBit(Math.max(1, maxKeys)) << 2;
      return new Index(new int[slots], new long[slots], new int[maxKeys]);
    }

    /**
     * Adds an entry whose key is not in the index, or returns the number of the entry of its key.
     */
    int add(int entry, int partitionId, long hash) {
      int slot = slotOf(partitionId, hash);
      if (slots[slot] != 0) {
        return slots[slot] - 1;
      }
      slots[slot] = entry + 1;
      hashes[slot] = hash;
      partitionIds[entry] = partitionId;
      return NOT_FOUND;
    }

    /** Returns whether a key of any partition has this hash. */
    boolean has(long hash) {
      for (int slot = firstSlot(hash); slots[slot] != 0; slot = slotAfter(slot)) {
        if (hashes[slot] == hash) {
          return true;
        }
      }
      return false;
    }

    /** Returns the number of the entry of a key, or {@link #NOT_FOUND}. */
    int find(int partitionId, long hash) {
      return slots[slotOf(partitionId, hash)] - 1;
    }

    /** Returns the slot of a key, or the empty slot where it would be. */
    private int slotOf(int partitionId, long hash) {
      int slot = firstSlot(hash);
      while (slots[slot] != 0
          && (hashes[slot] != hash || partitionIds[slots[slot] - 1] != partitionId)) {
        slot = slotAfter(slot);
      }
      return slot;
    }

    private int firstSlot(long hash) {
      return (int) (hash >>> (Integer.numberOfLeadingZeros(slots.length) + 33));
    }

    private int slotAfter(int slot) {
      return (slot + 1) & (slots.length - 1);
    }
  }

  private final CountingRules rules;
  private final long[] entries;
  private int count;
  private final Broadcast<Index> index;

  /**
   * Collects one hash partition of the keys that this audit read.
   *
   * @param read rows of {@link KeyBatch}, from files
   * @param partitionIds the partitions to select, see {@link PartitionIds}
   * @param countingRules see {@link CountingRules}
   * @param hashPartition the number of the hash partition, below {@code hashPartitions}
   */
  public KeyLookup(
      Dataset<Row> read,
      String partitionIds,
      String countingRules,
      int hashPartition,
      int hashPartitions) {
    this.rules = new CountingRules(countingRules);
    PartitionIds ids = new PartitionIds(partitionIds);
    List<long[]> collected =
        KeyBatch.batches(read)
            .mapPartitions(batches -> entries(batches, ids, hashPartition, hashPartitions))
            .collect();
    int maxKeys = collected.stream().mapToInt(part -> part.length / ENTRY_LENGTH).sum();
    entries = new long[maxKeys * ENTRY_LENGTH];
    Index built = Index.forKeys(maxKeys);
    for (long[] part : collected) {
      for (int from = 0; from < part.length; from += ENTRY_LENGTH) {
        addEntry(part, from, built);
      }
    }
    index = new JavaSparkContext(read.sparkSession().sparkContext()).broadcast(built);
  }

  private static Iterator<long[]> entries(
      Iterator<ColumnarBatch> batches, PartitionIds ids, int hashPartition, int hashPartitions) {
    LongList entries = new LongList();
    batches.forEachRemaining(
        batch -> {
          KeyBatch key = new KeyBatch(batch, ids);
          for (int row = 0; row < batch.numRows(); row++) {
            key.moveTo(row);
            if (Math.floorMod(key.hash(), hashPartitions) != hashPartition) {
              continue;
            }
            int partitionId = key.partitionId();
            if (partitionId != PartitionIds.NOT_SELECTED) {
              entries.add(
                  partitionId,
                  key.hash(),
                  key.records(),
                  key.rolled(),
                  key.cleanable(),
                  key.largestRecord(),
                  key.firstOffset(),
                  (key.lastOffset() << 1) | (key.isDeleted() ? 1 : 0),
                  key.fits(),
                  0,
                  0,
                  KeyCounts.NO_OFFSET,
                  key.secondOffset());
            }
          }
        });
    return Collections.singleton(entries.toArray()).iterator();
  }

  /** Adds an entry, or merges it with that of another task. */
  private void addEntry(long[] part, int from, Index built) {
    int same = built.add(count, (int) part[from + PARTITION_ID], part[from + HASH]);
    if (same == Index.NOT_FOUND) {
      System.arraycopy(part, from, entries, count++ * ENTRY_LENGTH, ENTRY_LENGTH);
      return;
    }
    int at = same * ENTRY_LENGTH;
    entries[at + RECORDS] += part[from + RECORDS];
    entries[at + ROLLED] += part[from + ROLLED];
    entries[at + CLEANABLE] += part[from + CLEANABLE];
    entries[at + LARGEST] = Math.max(entries[at + LARGEST], part[from + LARGEST]);
    long laterFirst = Math.max(entries[at + FIRST], part[from + FIRST]);
    long second = Math.min(entries[at + SECOND], part[from + SECOND]);
    entries[at + SECOND] = Math.min(second, laterFirst);
    entries[at + FIRST] = Math.min(entries[at + FIRST], part[from + FIRST]);
    entries[at + LAST] = Math.max(entries[at + LAST], part[from + LAST]);
  }

  /**
   * Looks for the keys among earlier keys.
   *
   * @param earlier rows of {@link KeyBatch}, from files
   * @param partitionIds the partitions to select, see {@link PartitionIds}
   */
  public void find(Dataset<Row> earlier, String partitionIds) {
    PartitionIds ids = new PartitionIds(partitionIds);
    Broadcast<Index> shared = index;
    JavaRDD<long[]> matches =
        KeyBatch.batches(earlier).mapPartitions(batches -> matches(batches, ids, shared.value()));
    for (long[] part : matches.collect()) {
      for (int from = 0; from < part.length; from += MATCH_LENGTH) {
        int at = (int) part[from] * ENTRY_LENGTH;
        entries[at + EARLIER_RECORDS] += part[from + 1];
        entries[at + EARLIER_LARGEST] = Math.max(entries[at + EARLIER_LARGEST], part[from + 2]);
        entries[at + EARLIER_FIRST] = Math.min(entries[at + EARLIER_FIRST], part[from + 3]);
      }
    }
  }

  private static Iterator<long[]> matches(
      Iterator<ColumnarBatch> batches, PartitionIds ids, Index index) {
    LongList matches = new LongList();
    batches.forEachRemaining(
        batch -> {
          KeyBatch key = new KeyBatch(batch, ids);
          long[] hashes = key.hashes(batch.numRows());
          for (int row = 0; row < hashes.length; row++) {
            if (index.has(hashes[row])) {
              key.moveTo(row);
              int entry = index.find(key.partitionId(), hashes[row]);
              if (entry != Index.NOT_FOUND) {
                matches.add(entry, key.records(), key.largestRecord(), key.firstOffset());
              }
            }
          }
        });
    return Collections.singleton(matches.toArray()).iterator();
  }

  /**
   * Returns the totals of the keys with their earlier records, one line of JSON for a partition.
   */
  public String totals() {
    index.destroy();
    PartitionTotals totals = new PartitionTotals(rules);
    for (int at = 0; at < count * ENTRY_LENGTH; at += ENTRY_LENGTH) {
      KeyTotals keys = totals.keys((int) entries[at + PARTITION_ID]);
      int fits = (int) entries[at + FITS];
      long earlierRecords = entries[at + EARLIER_RECORDS];
      long firstOffset = Math.min(entries[at + FIRST], entries[at + EARLIER_FIRST]);
      long secondOffset = entries[at + (earlierRecords > 0 ? FIRST : SECOND)];
      keys.add(
          entries[at + HASH],
          entries[at + RECORDS] + earlierRecords,
          entries[at + ROLLED],
          entries[at + CLEANABLE],
          (int) Math.max(entries[at + LARGEST], entries[at + EARLIER_LARGEST]),
          firstOffset,
          secondOffset,
          entries[at + LAST] >>> 1,
          (entries[at + LAST] & 1) != 0,
          fits);
      if (earlierRecords > 0) {
        keys.addEarlier(
            entries[at + HASH],
            earlierRecords,
            (int) entries[at + EARLIER_LARGEST],
            fits,
            firstOffset,
            secondOffset);
      }
    }
    return totals.toJsonLines();
  }

  /**
   * Returns the totals of keys that have no earlier records, one line of JSON for a partition.
   *
   * @param read rows of {@link KeyBatch}, from files, one row for each key
   * @param partitionIds the partitions to select, see {@link PartitionIds}
   */
  public static String totalsOfNewKeys(
      Dataset<Row> read, String partitionIds, String countingRules) {
    PartitionIds ids = new PartitionIds(partitionIds);
    return String.join(
        "\n",
        KeyBatch.batches(read)
            .mapPartitions(batches -> totals(batches, ids, countingRules))
            .filter(lines -> !lines.isEmpty())
            .collect());
  }

  private static Iterator<String> totals(
      Iterator<ColumnarBatch> batches, PartitionIds ids, String countingRules) {
    PartitionTotals totals = new PartitionTotals(new CountingRules(countingRules));
    batches.forEachRemaining(
        batch -> {
          KeyBatch key = new KeyBatch(batch, ids);
          for (int row = 0; row < batch.numRows(); row++) {
            key.moveTo(row);
            int partitionId = key.partitionId();
            if (partitionId != PartitionIds.NOT_SELECTED) {
              totals.keys(partitionId).add(key);
            }
          }
        });
    return Collections.singleton(totals.toJsonLines()).iterator();
  }
}
