package io.topicwarden.reader.counting;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KeyLookupIndexTest {
  @Test
  void findsKeysOfEqualHashByTheirPartition() {
    KeyLookup.Index index = KeyLookup.Index.forKeys(3);
    assertEquals(KeyLookup.Index.NOT_FOUND, index.add(0, 1, 42));
    assertEquals(KeyLookup.Index.NOT_FOUND, index.add(1, 2, 42));
    assertEquals(KeyLookup.Index.NOT_FOUND, index.add(2, 1, -7));
    assertEquals(0, index.find(1, 42));
    assertEquals(1, index.find(2, 42));
    assertEquals(2, index.find(1, -7));
    assertEquals(KeyLookup.Index.NOT_FOUND, index.find(3, 42));
    assertEquals(KeyLookup.Index.NOT_FOUND, index.find(1, 43));
  }

  @Test
  void aKeyIsAddedOnce() {
    KeyLookup.Index index = KeyLookup.Index.forKeys(2);
    index.add(0, 1, 42);
    assertEquals(0, index.add(1, 1, 42));
  }

  @ParameterizedTest
  @ValueSource(longs = {1, 0x9E3779B97F4A7C15L, 1L << 62, Long.MIN_VALUE})
  void findsEveryKeyOfAFullIndex(long distance) {
    int count = 1_000;
    KeyLookup.Index index = KeyLookup.Index.forKeys(count);
    for (int entry = 0; entry < count; entry++) {
      index.add(entry, entry, entry * distance);
    }
    for (int entry = 0; entry < count; entry++) {
      assertTrue(index.has(entry * distance));
      assertEquals(entry, index.find(entry, entry * distance));
    }
  }

  @Test
  void anEmptyIndexFindsNothing() {
    assertFalse(KeyLookup.Index.forKeys(0).has(0));
    assertEquals(KeyLookup.Index.NOT_FOUND, KeyLookup.Index.forKeys(0).find(0, 0));
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
