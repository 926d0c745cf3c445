package io.topicwarden.reader.codecs;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.node.ArrayNode;
import io.topicwarden.reader.Json;
import java.io.IOException;
import org.junit.jupiter.api.Test;

class FaultCountsTest {
  private final FaultCounts faults = new FaultCounts();

  private ArrayNode json() {
    ArrayNode json = Json.MAPPER.createArrayNode();
    faults.writeTo(json);
    return json;
  }

  @Test
  void countsByReasonAndKeepsTheFirstOffsets() throws IOException {
    for (int offset = 0; offset < 8; offset++) {
      faults.add("rule", RecordFault.invalid("reason", "excerpt " + offset), offset);
    }
    faults.add("rule", RecordFault.undecidable("reason"), 9);
    faults.add("other", "reason", 10);
    assertEquals(
        Json.MAPPER
            .readTree(
                """
            [{"rule": "rule", "reason": "reason", "excerpt": "excerpt 0", "undecided": false,
              "count": 8, "offsets": [0, 1, 2, 3, 4]},
             {"rule": "rule", "reason": "reason", "excerpt": "", "undecided": true,
              "count": 1, "offsets": [9]},
             {"rule": "other", "reason": "reason", "excerpt": "", "undecided": false,
              "count": 1, "offsets": [10]}]
            """)
            .toString(),
        json().toString());
  }

  @Test
  void theNumberOfReasonsIsLimited() {
    for (int i = 0; i < 100; i++) {
      faults.add("rule", "reason " + i, i);
      faults.add("rule", "reason 0", i);
    }
    ArrayNode json = json();
    assertEquals(FaultCounts.MAX_REASONS + 1, json.size());
    assertEquals(101, json.path(0).path("count").asInt());
    assertEquals("other reasons", json.path(20).path("reason").asText());
    assertEquals(80, json.path(20).path("count").asInt());
  }

  @Test
  void aContractCanAskForMoreOffsets() {
    FaultCounts many = new FaultCounts(100);
    for (int i = 0; i < 120; i++) {
      many.add("rule", "reason", 2L * i);
    }
    ArrayNode json = Json.MAPPER.createArrayNode();
    many.writeTo(json);
    assertEquals(120, json.path(0).path("count").asInt());
    assertEquals(100, json.path(0).path("offsets").size());
    assertEquals(198, json.path(0).path("offsets").path(99).asInt());
  }

  @Test
  void anErrorIsDescribedByItsDeepestMessage() {
    assertEquals(
        "IllegalStateException: first",
        RecordFault.describe(new IllegalStateException("first\nsecond")));
    assertEquals(
        "IllegalArgumentException: inner",
        RecordFault.describe(new RuntimeException(null, new IllegalArgumentException("inner"))));
    assertEquals("StackOverflowError", RecordFault.describe(new StackOverflowError()));
    String longest = RecordFault.describe(new Error("x".repeat(500)));
    assertEquals("Error: ".length() + 200, longest.length());
  }

  @Test
  void numbersAreWidenedForCel() {
    assertEquals(5L, CelNumbers.widen(5));
    assertEquals(5L, CelNumbers.widen((short) 5));
    assertEquals(5L, CelNumbers.widen((byte) 5));
    assertEquals(0.5, CelNumbers.widen(0.5f));
    assertEquals("5", CelNumbers.widen("5"));
    assertEquals(null, CelNumbers.widen(null));
  }
}
