package io.topicwarden.reader.counting;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.topicwarden.reader.Json;
import io.topicwarden.reader.counting.CountingRules.PartitionRules;

/**
 * The totals over all keys of a partition: the numbers about keys of {@code audit/scan/counts.py}.
 */
final class KeyTotals {
  private static final int DELETED_SAMPLES = 4; // deleted keys that are reported, by hash remainder
  private static final long NO_OFFSET = -1;

  /** The earliest pair of a record and a later record with the same key. */
  private static final class EarliestPair {
    private final String name;
    private long laterOffset = Long.MAX_VALUE;
    private long offset;
    private long key;

    EarliestPair(String name) {
      this.name = name;
    }

    void add(long hash, long offset, long laterOffset) {
      if (laterOffset < this.laterOffset) {
        this.laterOffset = laterOffset;
        this.offset = offset;
        this.key = hash;
      }
    }

    void writeTo(ObjectNode json) {
      if (laterOffset != Long.MAX_VALUE) {
        json.put(name + "_key", key);
        json.put(name + "_first", offset).put(name + "_second", laterOffset);
      }
    }
  }

  /** Sums that are kept for the current counts and for those of an earlier audit. */
  private static final class Sums {
    long keys;
    long superseded;
    long maxBytesAfterCleaning;
    final long[] fits = new long[Partitioners.NAMES.size()];

    void add(long records, int largestRecord, int fitsBits) {
      keys++;
      superseded += records - 1;
      maxBytesAfterCleaning += largestRecord;
      for (int bit = 0; fitsBits != Partitioners.NOT_CHECKED && bit < fits.length; bit++) {
        fits[bit] += (fitsBits >> bit) & 1;
      }
    }

    void writeTo(ObjectNode json) {
      json.put("keys", keys).put("superseded", superseded);
      json.put("clean_bytes_at_most", maxBytesAfterCleaning);
      for (int bit = 0; bit < fits.length; bit++) {
        json.put(Partitioners.NAMES.get(bit), fits[bit]);
      }
    }
  }

  private final PartitionRules rules;
  private final Sums sums = new Sums();
  private final Sums earlierSums = new Sums();
  private long supersededRolled;
  private long supersededCleanable;
  private long keysRolled;
  private long keysCleanable;
  private long firstSuperseded = Long.MAX_VALUE;
  // Of the keys with several records, the one whose second record comes first.
  private final EarliestPair pair = new EarliestPair("pair");
  // Of the keys with earlier records, the one whose first new record comes first.
  private final EarliestPair renewed = new EarliestPair("renewed");
  private long hottestRecords;
  private long hottestFirstOffset;
  private long hottestKey;
  private final long[] deletedKeys = new long[DELETED_SAMPLES];
  private final long[] deletedOffsets = {NO_OFFSET, NO_OFFSET, NO_OFFSET, NO_OFFSET};
  private long firstDeletedKey;
  private long firstDeletedOffset = NO_OFFSET;
  private long resurrectedKey;
  private long resurrectedOffset = NO_OFFSET;

  KeyTotals(PartitionRules rules) {
    this.rules = rules;
  }

  void add(KeyCounts key) {
    add(
        key.hash(),
        key.records(),
        key.rolled(),
        key.cleanable(),
        key.largestRecord(),
        key.firstOffset(),
        key.secondOffset(),
        key.lastOffset(),
        key.isDeleted(),
        key.fits());
  }

  void add(
      long hash,
      long records,
      long rolled,
      long cleanable,
      int largestRecord,
      long firstOffset,
      long secondOffset,
      long lastOffset,
      boolean isDeleted,
      int fits) {
    sums.add(records, largestRecord, fits);
    supersededRolled += Math.max(rolled - 1, 0);
    supersededCleanable += Math.max(cleanable - 1, 0);
    keysRolled += firstOffset < rules.rolledBefore() ? 1 : 0;
    keysCleanable += firstOffset < rules.cleanableBefore() ? 1 : 0;
    if (records > 1) {
      firstSuperseded = Math.min(firstSuperseded, firstOffset);
      pair.add(hash, firstOffset, Math.min(secondOffset, lastOffset));
    }
    if (records > hottestRecords
        || (records == hottestRecords && firstOffset < hottestFirstOffset)) {
      hottestRecords = records;
      hottestFirstOffset = firstOffset;
      hottestKey = hash;
    }
    if (isDeleted) {
      int sample = (int) Math.floorMod(hash, (long) DELETED_SAMPLES);
      if (deletedOffsets[sample] == NO_OFFSET || hash < deletedKeys[sample]) {
        deletedKeys[sample] = hash;
        deletedOffsets[sample] = lastOffset;
      }
      if (firstDeletedOffset == NO_OFFSET || lastOffset < firstDeletedOffset) {
        firstDeletedKey = hash;
        firstDeletedOffset = lastOffset;
      }
    }
    if (!rules.knownTombstones().isEmpty()) {
      Long tombstone = rules.knownTombstones().get(hash);
      if (tombstone != null
          && lastOffset < tombstone
          && (resurrectedOffset == NO_OFFSET || hash < resurrectedKey)) {
        resurrectedKey = hash;
        resurrectedOffset = lastOffset;
      }
    }
  }

  /**
   * Adds what an earlier audit counted of a key.
   *
   * @param firstOffset the offset of the first record of the key
   * @param newOffset the offset of the first record that this audit read
   */
  void addEarlier(
      long hash, long records, int largestRecord, int fits, long firstOffset, long newOffset) {
    earlierSums.add(records, largestRecord, fits);
    renewed.add(hash, firstOffset, newOffset);
  }

  ObjectNode toJson() {
    ObjectNode json = Json.MAPPER.createObjectNode();
    sums.writeTo(json);
    json.put("superseded_rolled", supersededRolled);
    json.put("superseded_cleanable", supersededCleanable);
    json.put("keys_rolled", keysRolled).put("keys_cleanable", keysCleanable);
    if (firstSuperseded != Long.MAX_VALUE) {
      json.put("first_superseded", firstSuperseded);
    }
    pair.writeTo(json);
    renewed.writeTo(json);
    json.put("hottest", hottestRecords);
    if (hottestRecords > 0) {
      json.put("hottest_offset", hottestFirstOffset).put("hottest_key", hottestKey);
    }
    for (int sample = 0; sample < DELETED_SAMPLES; sample++) {
      if (deletedOffsets[sample] != NO_OFFSET) {
        json.put("deleted_key_" + sample, deletedKeys[sample]);
        json.put("deleted_offset_" + sample, deletedOffsets[sample]);
      }
    }
    if (firstDeletedOffset != NO_OFFSET) {
      json.put("first_deleted_key", firstDeletedKey);
      json.put("first_deleted_offset", firstDeletedOffset);
    }
    if (resurrectedOffset != NO_OFFSET) {
      json.put("risen_key", resurrectedKey).put("risen_offset", resurrectedOffset);
    }
    if (earlierSums.keys > 0) {
      earlierSums.writeTo(json.putObject("before"));
    }
    return json;
  }
}
