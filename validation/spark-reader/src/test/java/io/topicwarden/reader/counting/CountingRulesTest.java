package io.topicwarden.reader.counting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import org.junit.jupiter.api.Test;

class CountingRulesTest {
  private static final String JSON =
      """
      {"now": 10000, "bands": [0, 1000, 5000], "block": 8192, "bands_at_most": 16, "parts": [
        {"part": 3, "by_key": true, "rolled_border": 7, "cleanable_border": 5, "expired_time": 100,
         "future_offset": 9, "graves": [[42, 6], [-1, 2]]},
        {"part": 4, "by_key": false, "rolled_border": 0, "cleanable_border": 0,
         "expired_time": null, "future_offset": null, "graves": []}]}
      """;

  private final CountingRules rules = new CountingRules(JSON);

  @Test
  void parsesTheRulesOfAPartition() {
    assertEquals(
        new CountingRules.PartitionRules(true, 7, 5, 100, 9, Map.of(42L, 6L, -1L, 2L)),
        rules.forPartition(3));
    assertEquals(8192, rules.blockSize());
    assertEquals(16, rules.maxAgeBands());
    assertNull(rules.forPartition(5));
  }

  @Test
  void withoutRetentionNothingExpires() {
    assertEquals(Long.MIN_VALUE, rules.forPartition(4).expiredBefore());
    assertEquals(Long.MAX_VALUE, rules.forPartition(4).futureOffset());
    assertTrue(rules.forPartition(4).knownTombstones().isEmpty());
  }

  @Test
  void ageBandsBeginAtTheirBounds() {
    assertEquals(0, rules.ageBand(10_001));
    assertEquals(1, rules.ageBand(10_000));
    assertEquals(1, rules.ageBand(9_001));
    assertEquals(2, rules.ageBand(9_000));
    assertEquals(2, rules.ageBand(5_001));
    assertEquals(3, rules.ageBand(5_000));
    assertEquals(3, rules.ageBand(0));
    assertEquals(4, rules.ageBand(-1)); // without a timestamp
    assertEquals(4, rules.ageBand(Long.MIN_VALUE));
  }

  @Test
  void refusesWhatIsNotJson() {
    assertThrows(IllegalArgumentException.class, () -> new CountingRules("{"));
    assertThrows(IllegalArgumentException.class, () -> new CountingRules("{} {}"));
  }
}
