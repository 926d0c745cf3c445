package topicwarden;

import com.fasterxml.jackson.databind.node.ObjectNode;

/** What is counted of all keys of one part together: the columns of {@code audit/counts.py} that are of keys. */
final class KeyTotals {
  private static final int LOTS = 4; // of which each gives one key that was deleted
  private static final long NONE = -1;

  /** Sums over keys: of what they are now, and of what they were before. */
  private static final class Sums {
    long keys;
    long superseded;
    long cleanBytesAtMost;
    final long[] fits = new long[Partitioners.NAMES.size()];

    void add(long records, int largest, int fitting) {
      keys++;
      superseded += records - 1;
      cleanBytesAtMost += largest;
      for (int bit = 0; fitting != Keys.UNASKED && bit < fits.length; bit++) {
        fits[bit] += fitting >> bit & 1;
      }
    }

    void tell(ObjectNode told) {
      told.put("keys", keys).put("superseded", superseded).put("clean_bytes_at_most", cleanBytesAtMost);
      for (int bit = 0; bit < fits.length; bit++) {
        told.put(Partitioners.NAMES.get(bit), fits[bit]);
      }
    }
  }

  private final Counting.Borders borders;
  private final Sums now = new Sums();
  private final Sums before = new Sums();
  private long supersededRolled;
  private long supersededCleanable;
  private long keysRolled;
  private long keysCleanable;
  private long firstSuperseded = Long.MAX_VALUE;
  private long pairLast = Long.MAX_VALUE;
  private long pairFirst;
  private long pairKey;
  private long hottest;
  private long hottestOffset;
  private long hottestKey;
  private final long[] deletedKeys = new long[LOTS];
  private final long[] deletedOffsets = {NONE, NONE, NONE, NONE};
  private long risenKey;
  private long risenOffset = NONE;

  KeyTotals(Counting.Borders borders) {
    this.borders = borders;
  }

  void add(Key key) {
    add(
        key.hash(), key.records(), key.rolled(), key.cleanable(), key.largestRecord(), key.firstOffset(),
        key.lastOffset(), key.deleted(), key.fits());
  }

  /** Counts a key by its hash; {@code deleted}: its last record is a tombstone; {@code fits}: see {@link Keys}. */
  void add(
      long key, long records, long rolled, long cleanable, int largest, long first, long last, boolean deleted,
      int fits) {
    now.add(records, largest, fits);
    supersededRolled += Math.max(rolled - 1, 0);
    supersededCleanable += Math.max(cleanable - 1, 0);
    keysRolled += first < borders.rolled() ? 1 : 0;
    keysCleanable += first < borders.cleanable() ? 1 : 0;
    if (records > 1) {
      firstSuperseded = Math.min(firstSuperseded, first);
      if (last < pairLast) {
        pairLast = last;
        pairFirst = first;
        pairKey = key;
      }
    }
    if (records > hottest || records == hottest && first < hottestOffset) {
      hottest = records;
      hottestOffset = first;
      hottestKey = key;
    }
    if (deleted) {
      int lot = (int) Math.floorMod(key, (long) LOTS);
      if (deletedOffsets[lot] == NONE || key < deletedKeys[lot]) {
        deletedKeys[lot] = key;
        deletedOffsets[lot] = last;
      }
    }
    if (!borders.graves().isEmpty()) {
      Long grave = borders.graves().get(key);
      if (grave != null && last < grave && (risenOffset == NONE || key < risenKey)) {
        risenKey = key;
        risenOffset = last;
      }
    }
  }

  /** Counts what had been counted of a key before there were more records of it. */
  void was(long records, int largest, int fits) {
    before.add(records, largest, fits);
  }

  ObjectNode told() {
    ObjectNode told = Json.MAPPER.createObjectNode();
    now.tell(told);
    told.put("superseded_rolled", supersededRolled).put("superseded_cleanable", supersededCleanable);
    told.put("keys_rolled", keysRolled).put("keys_cleanable", keysCleanable);
    if (firstSuperseded != Long.MAX_VALUE) {
      told.put("first_superseded", firstSuperseded);
      told.put("pair_key", pairKey).put("pair_first", pairFirst).put("pair_last", pairLast);
    }
    told.put("hottest", hottest);
    if (hottest > 0) {
      told.put("hottest_offset", hottestOffset).put("hottest_key", hottestKey);
    }
    for (int lot = 0; lot < LOTS; lot++) {
      if (deletedOffsets[lot] != NONE) {
        told.put("deleted_key_" + lot, deletedKeys[lot]).put("deleted_offset_" + lot, deletedOffsets[lot]);
      }
    }
    if (risenOffset != NONE) {
      told.put("risen_key", risenKey).put("risen_offset", risenOffset);
    }
    if (before.keys > 0) {
      before.tell(told.putObject("before"));
    }
    return told;
  }
}
