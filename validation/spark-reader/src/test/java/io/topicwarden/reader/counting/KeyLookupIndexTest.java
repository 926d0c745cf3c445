package io.topicwarden.reader.counting;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Arrays;
import org.apache.spark.sql.RowFactory;
import org.junit.jupiter.api.Test;

class KeyLookupIndexTest {
  private static KeyCounts key(int partitionId, long hash) {
    return GroupRow.keyOf(RowFactory.create(partitionId, null, true, hash));
  }

  /** Adds a key as the lookup does. */
  private static void add(KeyLookup.Index index, int entry, int partitionId, long hash) {
    index.hashes()[entry] = hash;
    index.partitionIds()[entry] = partitionId;
    int slot = (int) ((hash * 0x9E3779B97F4A7C15L) >>> 32) & (index.slots().length - 1);
    while (index.slots()[slot] != 0) {
      slot = (slot + 1) & (index.slots().length - 1);
    }
    index.slots()[slot] = entry + 1;
  }

  @Test
  void findsKeysOfEqualHashByTheirPartition() {
    KeyLookup.Index index = KeyLookup.Index.forKeys(3);
    add(index, 0, 1, 42);
    add(index, 1, 2, 42);
    add(index, 2, 1, -7);
    assertEquals(0, index.find(key(1, 42)));
    assertEquals(1, index.find(key(2, 42)));
    assertEquals(2, index.find(key(1, -7)));
    assertEquals(KeyLookup.Index.NOT_FOUND, index.find(key(3, 42)));
    assertEquals(KeyLookup.Index.NOT_FOUND, index.find(key(1, 43)));
  }

  @Test
  void findsEveryKeyOfAFullIndex() {
    int count = 1_000;
    KeyLookup.Index index = KeyLookup.Index.forKeys(count);
    for (int entry = 0; entry < count; entry++) {
      add(index, entry, entry % 3, entry);
    }
    for (int entry = 0; entry < count; entry++) {
      assertEquals(entry, index.find(key(entry % 3, entry)));
    }
  }

  @Test
  void anEmptyIndexFindsNothing() {
    assertEquals(KeyLookup.Index.NOT_FOUND, KeyLookup.Index.forKeys(0).find(key(0, 0)));
  }

  @Test
  void aListOfLongsGrows() {
    LongList list = new LongList();
    long[] expected = new long[5_000];
    Arrays.setAll(expected, i -> i);
    for (int i = 0; i < 5_000; i += 2) {
      list.add(i, i + 1);
    }
    assertArrayEquals(expected, list.toArray());
    list.add(new long[20_000]);
    assertEquals(25_000, list.toArray().length);
  }
}
