package io.topicwarden.reader.counting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.topicwarden.reader.counting.CountingRules.PartitionRules;
import java.util.Map;
import org.junit.jupiter.api.Test;

class KeyTotalsTest {
  private static final PartitionRules RULES =
      new PartitionRules(
          true, 10, 5, Long.MIN_VALUE, Long.MAX_VALUE, Map.of(7L, 100L, 8L, 20L, 3L, 50L));

  private final KeyTotals totals = new KeyTotals(RULES);

  private void add(long hash, long records, long first, long last, boolean deleted, int fits) {
    addWithSecond(hash, records, first, last, last, deleted, fits);
  }

  private void addWithSecond(
      long hash, long records, long first, long second, long last, boolean deleted, int fits) {
    totals.add(hash, records, Math.min(records, 3), 1, 10, first, second, last, deleted, fits);
  }

  private long number(String field) {
    return totals.toJson().path(field).asLong(Long.MIN_VALUE);
  }

  @Test
  void sumsKeysAndSupersededRecords() {
    add(1, 1, 2, 2, false, 0b00101);
    add(2, 4, 6, 30, false, 0b00001);
    assertEquals(2, number("keys"));
    assertEquals(3, number("superseded"));
    assertEquals(2, number("superseded_rolled"));
    assertEquals(0, number("superseded_cleanable"));
    assertEquals(20, number("clean_bytes_at_most"));
    assertEquals(2, number("keys_rolled"));
    assertEquals(1, number("keys_cleanable"));
    assertEquals(2, number("murmur2"));
    assertEquals(0, number("crc32"));
    assertEquals(1, number("fnv1a"));
  }

  @Test
  void theEarliestPairIsRepeatedFirst() {
    addWithSecond(1, 2, 1, 40, 40, false, 0);
    addWithSecond(2, 5, 8, 30, 90, false, 0);
    addWithSecond(3, 1, 0, KeyCounts.NO_OFFSET, 0, false, 0);
    assertEquals(1, number("first_superseded"));
    assertEquals(2, number("pair_key"));
    assertEquals(8, number("pair_first"));
    assertEquals(30, number("pair_second"));
  }

  @Test
  void withoutASecondOffsetTheLastOneIsInThePair() {
    addWithSecond(1, 2, 1, KeyCounts.NO_OFFSET, 40, false, 0);
    assertEquals(40, number("pair_second"));
  }

  @Test
  void theFirstDeletedKeyIsReportedWhateverItsHash() {
    add(9, 1, 0, 50, true, 0);
    add(5, 1, 1, 60, true, 0);
    assertEquals(9, number("first_deleted_key"));
    assertEquals(50, number("first_deleted_offset"));
  }

  @Test
  void theKnownKeyWhoseNewRecordComesFirstIsReported() {
    totals.addEarlier(4, 1, 7, 0, 3, 90);
    totals.addEarlier(5, 1, 7, 0, 8, 70);
    assertEquals(5, number("renewed_key"));
    assertEquals(8, number("renewed_first"));
    assertEquals(70, number("renewed_second"));
  }

  @Test
  void withoutSupersededRecordsThereIsNoPair() {
    add(1, 1, 1, 1, false, 0);
    assertFalse(totals.toJson().has("pair_key"));
    assertFalse(totals.toJson().has("first_superseded"));
  }

  @Test
  void theHottestKeyOfEquallyManyRecordsComesFirst() {
    add(1, 3, 9, 20, false, 0);
    add(2, 3, 4, 21, false, 0);
    add(3, 2, 0, 22, false, 0);
    assertEquals(3, number("hottest"));
    assertEquals(2, number("hottest_key"));
    assertEquals(4, number("hottest_offset"));
  }

  @Test
  void oneDeletedKeyForEachRemainderTheSmallest() {
    add(5, 1, 1, 1, true, 0);
    add(1, 1, 2, 2, true, 0);
    add(-3, 1, 3, 3, true, 0);
    add(6, 1, 4, 4, true, 0);
    add(2, 1, 5, 5, false, 0);
    assertEquals(-3, number("deleted_key_1"));
    assertEquals(3, number("deleted_offset_1"));
    assertEquals(6, number("deleted_key_2"));
    assertFalse(totals.toJson().has("deleted_key_0"));
    assertFalse(totals.toJson().has("deleted_key_3"));
  }

  @Test
  void aKeyIsResurrectedIfItsLastRecordIsBelowTheKnownTombstone() {
    add(8, 1, 30, 30, false, 0); // written after the tombstone
    assertFalse(totals.toJson().has("risen_key"));
    add(7, 1, 60, 60, false, 0);
    add(3, 1, 40, 40, false, 0);
    add(9, 1, 1, 1, false, 0); // no known tombstone
    assertEquals(3, number("risen_key"));
    assertEquals(40, number("risen_offset"));
  }

  @Test
  void earlierCountsAreReportedApart() {
    add(1, 4, 0, 9, false, 0b1);
    totals.addEarlier(1, 3, 7, 0b1, 0, 9);
    ObjectNode before = (ObjectNode) totals.toJson().path("before");
    assertEquals(1, before.path("keys").asInt());
    assertEquals(2, before.path("superseded").asInt());
    assertEquals(7, before.path("clean_bytes_at_most").asInt());
    assertEquals(1, before.path("murmur2").asInt());
  }

  @Test
  void uncheckedPlacementFitsNothing() {
    add(1, 1, 0, 0, false, Partitioners.NOT_CHECKED);
    for (String name : Partitioners.NAMES) {
      assertEquals(0, number(name));
    }
    assertTrue(totals.toJson().path("before").isMissingNode());
  }
}
