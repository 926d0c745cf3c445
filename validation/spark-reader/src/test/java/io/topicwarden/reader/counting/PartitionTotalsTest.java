package io.topicwarden.reader.counting;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.topicwarden.reader.Json;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.Test;

class PartitionTotalsTest {
  private static final String RULES =
      """
      {"bands": [], "parts": [{"part": 0, "by_key": false}, {"part": 1, "by_key": true}]}
      """;

  private final PartitionTotals totals = new PartitionTotals(new CountingRules(RULES));

  private static BlockCounts block(int records) {
    BlockCounts counts = new BlockCounts();
    for (int offset = 0; offset < records; offset++) {
      ConsumerRecord<byte[], byte[]> record = Records.record(offset, offset, "k", "v");
      counts.add(record, Records.size(record), Records.NO_RULES);
    }
    return counts;
  }

  @Test
  void blocksOfABandAreAddedUp() throws Exception {
    totals.addBlock(1, 2, block(3));
    totals.addBlock(0, 1, block(1));
    totals.addBlock(1, 2, block(4));
    totals.addBlock(1, 0, block(5));
    totals.addSummary(1, "first");
    totals.addSummary(1, "second");
    String[] lines = totals.toJsonLines().split("\n", -1);
    assertEquals(2, lines.length);
    var first = Json.MAPPER.readTree(lines[0]);
    var second = Json.MAPPER.readTree(lines[1]);
    assertEquals(0, first.path("part").asInt());
    assertEquals(false, first.has("keys"));
    assertEquals(1, second.path("part").asInt());
    assertEquals(0, second.path("bands").path(0).path("band").asInt());
    assertEquals(5, second.path("bands").path(0).path("records").asInt());
    assertEquals(2, second.path("bands").path(1).path("band").asInt());
    assertEquals(7, second.path("bands").path(1).path("records").asInt());
    assertEquals("[\"first\",\"second\"]", second.path("notes").toString());
    assertEquals(0, second.path("keys").path("keys").asInt()); // counted by key, without keys
  }

  @Test
  void nothingReadIsNoLine() {
    assertEquals("", totals.toJsonLines());
  }
}
