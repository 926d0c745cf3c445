package io.topicwarden.reader.counting;

import io.topicwarden.reader.counting.CountingRules.PartitionRules;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * Counts the records of each key of a task, in bounded memory and for any number of keys.
 *
 * <p>The current entries are in a table that fits into the processor's cache. An entry that is
 * evicted by another key is appended to the hash partition of its key. Full buffers of hash
 * partitions are spilled to a file. At the end each hash partition is merged on its own, again
 * within the cache. While nearly every record would evict an entry, records are appended to their
 * hash partitions directly.
 *
 * <p>Call {@link #add} for every record, then {@link #next} until it returns false. After each
 * true, the methods of {@link KeyCounts} describe the current key.
 */
public final class KeyTable implements KeyCounts, Closeable {
  // An entry is several longs. In a hash partition, an entry of one record ends before RECORDS.
  private static final int HASH = 0;
  private static final int LAST = 1; // the offset of the last record and its three flags
  private static final int PACKED = 2; // partition id, fits, largest record
  private static final int RECORDS = 3; // 0 in an empty slot of the table
  private static final int ROLLED = 4; // this and the following are set with the second record
  private static final int CLEANABLE = 5;
  private static final int FIRST = 6;
  private static final int SECOND = 7;
  private static final int ENTRY_LENGTH = 8;
  private static final int SLOT_LENGTH = 8; // a power of two, and one cache line

  private static final int FLAG_BITS = 3;
  private static final int IS_TOMBSTONE = 1;
  private static final int IS_ROLLED = 2;
  private static final int IS_CLEANABLE = 4;
  private static final long IS_LONG_ENTRY = Long.MIN_VALUE; // in LAST of a hash partition's entry

  private static final long SIZE_MASK = 0xffffffffL;
  private static final int FITS_SHIFT = 32;
  private static final int PARTITION_ID_SHIFT = 38;
  private static final int FITS_NOT_CHECKED = 0x3f; // more bits than there are partitioners

  private static final int SLOTS = 1 << 12;
  private static final int BUFFER_LENGTH = 1 << 9;
  private static final int BUFFERS_PER_WRITE = 1 << 5;
  private static final int RECORDS_PER_HASH_PARTITION = 1 << 16;
  private static final int MAX_HASH_PARTITIONS = 1 << 10;

  private static final int SAMPLED_RECORDS = 1 << 16;
  private static final int UNSAMPLED_RECORDS = 1 << 20; // that bypass the table
  private static final int WORTHWHILE_HITS = SAMPLED_RECORDS / 8;

  /** The positions in the spill file of one hash partition's buffers. */
  private static final class SpilledBuffers {
    long[] positions = new long[4];
    int count;
  }

  private final SpillStorage storage;
  private final long[] table = new long[SLOTS * SLOT_LENGTH];
  private final long[] buffers; // one for each hash partition
  private final int[] bufferLengths;
  private final SpilledBuffers[] spilled;
  private final int hashShift;
  private final ByteBuffer transfer =
      ByteBuffer.allocateDirect(BUFFERS_PER_WRITE * BUFFER_LENGTH * Long.BYTES)
          .order(ByteOrder.nativeOrder());
  private final LongBuffer transferLongs = transfer.asLongBuffer();
  private FileChannel file;
  private long fileEnd; // with the full buffers in transfer, which are written together
  private boolean bypassesTable;
  private int recordsUntilChoice = SAMPLED_RECORDS;
  private int misses; // records of the sample whose key had no slot

  // The hash partition that is read.
  private int hashPartition = -1;
  private final long[] loaded =
      new long[ENTRY_LENGTH + BUFFER_LENGTH]; // an entry may be in two buffers
  private int[] index = {}; // positions in merged plus one, by hash; 0 is a free slot
  private int indexLength;
  private long[] merged = {};
  private int mergedLength;
  private int current = -SLOT_LENGTH;

  /**
   * Creates an empty table.
   *
   * @param expectedRecords about how many records will be added
   */
  public KeyTable(long expectedRecords, SpillStorage storage) {
    this.storage = storage;
    long wanted = expectedRecords / RECORDS_PER_HASH_PARTITION;
    long hashPartitions = Math.max(1, Math.min(MAX_HASH_PARTITIONS, wanted));
    int bits = Long.SIZE - Long.numberOfLeadingZeros(hashPartitions - 1);
    buffers = new long[BUFFER_LENGTH << bits];
    bufferLengths = new int[1 << bits];
    spilled = new SpilledBuffers[1 << bits];
    hashShift = Long.SIZE - bits;
  }

  /**
   * Counts a record. The records of a key must come in the order of their offsets.
   *
   * @param bytes the size of the key and the value
   * @param partitionCount the number of partitions of the topic, or 0 if {@link #fits} is not
   *     needed
   */
  public void add(
      int partitionId,
      long hash,
      ConsumerRecord<byte[], byte[]> record,
      int bytes,
      PartitionRules rules,
      int partitionCount)
      throws IOException {
    long offset = record.offset();
    long last =
        (offset << FLAG_BITS)
            | (record.value() == null ? IS_TOMBSTONE : 0)
            | (offset < rules.rolledBefore() ? IS_ROLLED : 0)
            | (offset < rules.cleanableBefore() ? IS_CLEANABLE : 0);
    if (recordsUntilChoice-- == 0) {
      chooseWay();
    }
    if (bypassesTable) {
      appendRecord(hash, last, packed(partitionId, record, bytes, partitionCount));
      return;
    }
    int slot = (((int) hash ^ partitionId) * SLOT_LENGTH) & (SLOTS * SLOT_LENGTH - 1);
    if (table[slot + RECORDS] > 0
        && table[slot + HASH] == hash
        && table[slot + PACKED] >>> PARTITION_ID_SHIFT == partitionId) {
      if (table[slot + RECORDS] == 1) {
        completeFirstRecord(table, slot);
        table[slot + SECOND] = offset;
      }
      table[slot + RECORDS]++;
      table[slot + ROLLED] += isRolled(last);
      table[slot + CLEANABLE] += isCleanable(last);
      table[slot + LAST] = last;
      table[slot + PACKED] = withLargest(table[slot + PACKED], bytes);
      return;
    }
    if (table[slot + RECORDS] > 0) {
      evict(slot);
    }
    misses++;
    table[slot + HASH] = hash;
    table[slot + LAST] = last;
    table[slot + PACKED] = packed(partitionId, record, bytes, partitionCount);
    table[slot + RECORDS] = 1;
  }

  private static long packed(
      int partitionId, ConsumerRecord<byte[], byte[]> record, int bytes, int partitionCount) {
    int fits =
        partitionCount == 0
            ? FITS_NOT_CHECKED
            : Partitioners.fits(record.key(), record.partition(), partitionCount);
    return ((long) partitionId << PARTITION_ID_SHIFT) | ((long) fits << FITS_SHIFT) | bytes;
  }

  /**
   * Bypasses the table if few records of the sample were counted in it, and samples again later.
   * The table is emptied first, so that hash partitions keep the order of offsets.
   */
  private void chooseWay() throws IOException {
    bypassesTable = !bypassesTable && SAMPLED_RECORDS - misses < WORTHWHILE_HITS;
    if (bypassesTable) {
      evictAll();
    }
    misses = 0;
    recordsUntilChoice = bypassesTable ? UNSAMPLED_RECORDS : SAMPLED_RECORDS;
  }

  private static long isRolled(long last) {
    return (last >>> 1) & 1;
  }

  private static long isCleanable(long last) {
    return (last >>> 2) & 1;
  }

  private static long withLargest(long packed, long bytes) {
    return (packed & ~SIZE_MASK) | Math.max(packed & SIZE_MASK, bytes);
  }

  /** Sets what an entry of one record leaves out. */
  private static void completeFirstRecord(long[] entries, int at) {
    long last = entries[at + LAST];
    entries[at + ROLLED] = isRolled(last);
    entries[at + CLEANABLE] = isCleanable(last);
    entries[at + FIRST] = last >>> FLAG_BITS;
    entries[at + SECOND] = NO_OFFSET;
  }

  /** Appends the entry of a slot to its hash partition. */
  private void evict(int slot) throws IOException {
    if (table[slot + RECORDS] == 1) {
      appendRecord(table[slot + HASH], table[slot + LAST], table[slot + PACKED]);
      return;
    }
    int target = hashPartitionOf(table[slot + HASH]);
    table[slot + LAST] |= IS_LONG_ENTRY;
    for (int field = 0; field < ENTRY_LENGTH; field++) {
      append(target, table[slot + field]);
    }
  }

  private void evictAll() throws IOException {
    for (int slot = 0; slot < table.length; slot += SLOT_LENGTH) {
      if (table[slot + RECORDS] > 0) {
        evict(slot);
        table[slot + RECORDS] = 0;
      }
    }
  }

  private int hashPartitionOf(long hash) {
    return hashShift == Long.SIZE ? 0 : (int) (hash >>> hashShift);
  }

  /** Appends the entry of one record to its hash partition. */
  private void appendRecord(long hash, long last, long packed) throws IOException {
    int target = hashPartitionOf(hash);
    int length = bufferLengths[target];
    if (length + RECORDS < BUFFER_LENGTH) {
      int at = target * BUFFER_LENGTH + length;
      buffers[at + HASH] = hash;
      buffers[at + LAST] = last;
      buffers[at + PACKED] = packed;
      bufferLengths[target] = length + RECORDS;
    } else {
      append(target, hash);
      append(target, last);
      append(target, packed);
    }
  }

  private void append(int target, long value) throws IOException {
    buffers[target * BUFFER_LENGTH + bufferLengths[target]++] = value;
    if (bufferLengths[target] == BUFFER_LENGTH) {
      spill(target);
    }
  }

  private void spill(int target) throws IOException {
    transferLongs.put(buffers, target * BUFFER_LENGTH, BUFFER_LENGTH);
    if (spilled[target] == null) {
      spilled[target] = new SpilledBuffers();
    }
    SpilledBuffers list = spilled[target];
    if (list.count == list.positions.length) {
      list.positions = Arrays.copyOf(list.positions, 2 * list.count);
    }
    list.positions[list.count++] = fileEnd;
    fileEnd += BUFFER_LENGTH * Long.BYTES;
    bufferLengths[target] = 0;
    if (!transferLongs.hasRemaining()) {
      writeTransfer();
    }
  }

  /** Appends the full buffers to the file. Without a file, all of them are still in transfer. */
  private void writeTransfer() throws IOException {
    if (file == null) {
      file =
          FileChannel.open(
              storage.newFile(),
              StandardOpenOption.CREATE,
              StandardOpenOption.READ,
              StandardOpenOption.WRITE,
              StandardOpenOption.DELETE_ON_CLOSE);
    }
    int length = transferLongs.position() * Long.BYTES;
    transfer.clear().limit(length);
    while (transfer.hasRemaining()) {
      file.write(transfer, fileEnd - transfer.remaining());
    }
    transferLongs.clear();
    storage.onSpilled(length);
  }

  /** Moves to the next key; returns false after the last one. */
  public boolean next() throws IOException {
    if (hashPartition < 0) {
      evictAll();
      if (file != null) {
        writeTransfer();
      }
    }
    current += SLOT_LENGTH;
    while (current >= mergedLength) {
      if (++hashPartition >= bufferLengths.length) {
        return false;
      }
      current = 0;
      mergedLength = 0;
      merge(hashPartition);
    }
    return true;
  }

  /**
   * Merges the entries of a hash partition into one for each key, in the order in which they were
   * written. Only one buffer is loaded at a time: a key may have any number of entries.
   */
  private void merge(int target) throws IOException {
    int spilledCount = spilled[target] == null ? 0 : spilled[target].count;
    long length = (long) spilledCount * BUFFER_LENGTH + bufferLengths[target];
    int keys = (int) Math.min(length / RECORDS, RECORDS_PER_HASH_PARTITION);
    clearIndex(Integer.highestOneBit(Math.max(1, keys)) << 2);
    int rest = 0;
    for (int i = 0; i < spilledCount; i++) {
      load(spilled[target].positions[i], rest);
      rest = mergeLoaded(rest + BUFFER_LENGTH);
    }
    System.arraycopy(buffers, target * BUFFER_LENGTH, loaded, rest, bufferLengths[target]);
    mergeLoaded(rest + bufferLengths[target]);
    spilled[target] = null;
  }

  /** Loads a spilled buffer behind the rest of the one before. */
  private void load(long position, int rest) throws IOException {
    if (file == null) {
      transferLongs.get((int) position / Long.BYTES, loaded, rest, BUFFER_LENGTH);
      return;
    }
    transfer.clear().limit(BUFFER_LENGTH * Long.BYTES);
    while (transfer.hasRemaining()) {
      if (file.read(transfer, position + transfer.position()) < 0) {
        throw new IOException("the spill file is shorter than what was written to it");
      }
    }
    transferLongs.clear();
    transferLongs.get(loaded, rest, BUFFER_LENGTH);
  }

  /**
   * Merges the loaded entries; moves the rest, an incomplete one, to the start, and returns its
   * length.
   */
  private int mergeLoaded(int length) {
    int entry = 0;
    while (entry + RECORDS <= length) {
      boolean isLong = loaded[entry + LAST] < 0;
      if (isLong && entry + ENTRY_LENGTH > length) {
        break;
      }
      int slot = firstSlot(loaded[entry + HASH]);
      while (index[slot] != 0 && !isSameKey(index[slot] - 1, entry)) {
        slot = (slot + 1) & (indexLength - 1);
      }
      if (index[slot] != 0) {
        addToMerged(index[slot] - 1, entry, isLong);
      } else {
        index[slot] = mergedLength + 1;
        appendMerged(entry, isLong);
        if (mergedLength / SLOT_LENGTH * 2 > indexLength) {
          growIndex();
        }
      }
      entry += isLong ? ENTRY_LENGTH : RECORDS;
    }
    System.arraycopy(loaded, entry, loaded, 0, length - entry);
    return length - entry;
  }

  private void clearIndex(int length) {
    indexLength = length;
    if (index.length < length) {
      index = new int[length];
    } else {
      Arrays.fill(index, 0, length, 0);
    }
  }

  private void growIndex() {
    clearIndex(2 * indexLength);
    for (int entry = 0; entry < mergedLength; entry += SLOT_LENGTH) {
      int slot = firstSlot(merged[entry + HASH]);
      while (index[slot] != 0) {
        slot = (slot + 1) & (indexLength - 1);
      }
      index[slot] = entry + 1;
    }
  }

  /** The hashes of a hash partition have the same first bits, so they are multiplied. */
  private int firstSlot(long hash) {
    return (int) ((hash * 0x9E3779B97F4A7C15L) >>> 32) & (indexLength - 1);
  }

  private boolean isSameKey(int mergedEntry, int entry) {
    return merged[mergedEntry + HASH] == loaded[entry + HASH]
        && merged[mergedEntry + PACKED] >>> PARTITION_ID_SHIFT
            == loaded[entry + PACKED] >>> PARTITION_ID_SHIFT;
  }

  private void appendMerged(int entry, boolean isLong) {
    if (mergedLength == merged.length) {
      merged = Arrays.copyOf(merged, Math.max(SLOTS * SLOT_LENGTH, 2 * mergedLength));
    }
    System.arraycopy(loaded, entry, merged, mergedLength, isLong ? ENTRY_LENGTH : RECORDS);
    if (isLong) {
      merged[mergedLength + LAST] &= ~IS_LONG_ENTRY;
    } else {
      merged[mergedLength + RECORDS] = 1;
      completeFirstRecord(merged, mergedLength);
    }
    mergedLength += SLOT_LENGTH;
  }

  /** Adds an entry to an earlier one: hash partitions keep the order of offsets. */
  private void addToMerged(int target, int entry, boolean isLong) {
    long last = loaded[entry + LAST];
    if (merged[target + SECOND] == NO_OFFSET) {
      merged[target + SECOND] = isLong ? loaded[entry + FIRST] : last >>> FLAG_BITS;
    }
    merged[target + RECORDS] += isLong ? loaded[entry + RECORDS] : 1;
    merged[target + ROLLED] += isLong ? loaded[entry + ROLLED] : isRolled(last);
    merged[target + CLEANABLE] += isLong ? loaded[entry + CLEANABLE] : isCleanable(last);
    merged[target + LAST] = last & ~IS_LONG_ENTRY;
    merged[target + PACKED] =
        withLargest(merged[target + PACKED], loaded[entry + PACKED] & SIZE_MASK);
  }

  @Override
  public int partitionId() {
    return (int) (merged[current + PACKED] >>> PARTITION_ID_SHIFT);
  }

  @Override
  public long hash() {
    return merged[current + HASH];
  }

  @Override
  public long records() {
    return merged[current + RECORDS];
  }

  @Override
  public long rolled() {
    return merged[current + ROLLED];
  }

  @Override
  public long cleanable() {
    return merged[current + CLEANABLE];
  }

  @Override
  public int largestRecord() {
    return (int) merged[current + PACKED];
  }

  @Override
  public long firstOffset() {
    return merged[current + FIRST];
  }

  @Override
  public long secondOffset() {
    return merged[current + SECOND];
  }

  @Override
  public long lastOffset() {
    return merged[current + LAST] >>> FLAG_BITS;
  }

  @Override
  public boolean isDeleted() {
    return (merged[current + LAST] & IS_TOMBSTONE) != 0;
  }

  @Override
  public int fits() {
    int fits = (int) (merged[current + PACKED] >>> FITS_SHIFT) & FITS_NOT_CHECKED;
    return fits == FITS_NOT_CHECKED ? Partitioners.NOT_CHECKED : fits;
  }

  @Override
  public void close() throws IOException {
    if (file != null) {
      file.close();
    }
  }
}
