package io.topicwarden.reader.counting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ArrayNode;
import io.topicwarden.reader.Json;
import org.junit.jupiter.api.Test;

class ArrivalCountsTest {
  private static final long HOUR = 3_600_000;

  private final ArrivalCounts counts = new ArrivalCounts(HOUR, 10);

  private ArrayNode json() {
    ArrayNode json = Json.MAPPER.createArrayNode();
    counts.writeTo(json);
    return json;
  }

  @Test
  void countsByIntervalAndBlock() {
    assertTrue(counts.isEmpty());
    counts.add(8, HOUR);
    counts.add(9, 2 * HOUR);
    counts.add(9, 2 * HOUR - 1);
    counts.add(10, HOUR);
    assertEquals("[[0,3600000,2],[0,7200000,1],[1,3600000,1]]", json().toString());
  }

  @Test
  void timestampsMayBeAnything() {
    counts.add(0, 0);
    counts.add(1, Long.MAX_VALUE);
    long last = Long.MAX_VALUE - Long.MAX_VALUE % HOUR;
    assertEquals("[[0,0,1],[0," + last + ",1]]", json().toString());
  }

  @Test
  void scatteredTimestampsNeedBoundedMemory() {
    long records = ArrivalCounts.MAX_ROWS + 25;
    for (long offset = 0; offset < records; offset++) {
      counts.add(offset, offset * HOUR);
    }
    counts.add(records, 0); // an interval of another block counts there, and is scattered here
    ArrayNode json = json();
    assertEquals(ArrivalCounts.MAX_ROWS + 3, json.size());
    assertEquals("[10000,null,10]", json.path(ArrivalCounts.MAX_ROWS).toString());
    assertEquals("[10002,null,6]", json.path(ArrivalCounts.MAX_ROWS + 2).toString());
  }

  @Test
  void knownIntervalsOfABlockStayExactWhenTheMemoryIsFull() {
    for (long row = 0; row < ArrivalCounts.MAX_ROWS; row++) {
      counts.add(0, row * HOUR);
    }
    counts.add(1, ArrivalCounts.MAX_ROWS * HOUR);
    counts.add(2, HOUR);
    assertEquals("[0,3600000,2]", json().path(1).toString());
    assertEquals("[0,null,1]", json().path(ArrivalCounts.MAX_ROWS).toString());
  }
}
