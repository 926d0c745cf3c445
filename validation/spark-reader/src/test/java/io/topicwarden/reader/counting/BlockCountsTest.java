package io.topicwarden.reader.counting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.topicwarden.reader.Json;
import io.topicwarden.reader.counting.CountingRules.PartitionRules;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.Test;

class BlockCountsTest {
  private static final PartitionRules RULES = Records.rules(12, 11, 50, 12);

  private static void add(BlockCounts counts, ConsumerRecord<byte[], byte[]> record) {
    counts.add(record, Records.size(record), RULES);
  }

  private static BlockCounts first() {
    BlockCounts counts = new BlockCounts();
    add(counts, Records.record(10, 40, "k", "value")); // rolled, cleanable, expired
    add(counts, Records.record(11, 60, null, "v"));
    return counts;
  }

  private static BlockCounts second() {
    BlockCounts counts = new BlockCounts();
    add(counts, Records.record(12, 50, "key", ""));
    add(counts, Records.record(13, 49, null, null)); // expired behind a future record
    add(counts, Records.record(14, 90, "key", ""));
    return counts;
  }

  private static ObjectNode json(BlockCounts counts) {
    ObjectNode json = Json.MAPPER.createObjectNode();
    counts.writeTo(json);
    return json;
  }

  private static final String FIRST =
      """
      {"records": 2, "rolled": 2, "cleanable": 1, "largest_record": 6, "payload_bytes": 7,
       "null_keys": 1, "first_null_key": 11, "tombstones": 0, "empty_values": 0,
       "cleanable_bytes": 6, "expired": 1, "expired_behind_future": 0, "first_timestamp": 40,
       "last_timestamp": 60}
      """;
  private static final String BOTH =
      """
      {"records": 5, "rolled": 2, "cleanable": 1, "largest_record": 6, "payload_bytes": 13,
       "null_keys": 2, "first_null_key": 11, "tombstones": 1, "empty_values": 2,
       "first_empty_value": 12, "cleanable_bytes": 6, "expired": 2, "expired_behind_future": 1,
       "first_timestamp": 40, "last_timestamp": 90}
      """;

  @Test
  void countsRecords() throws Exception {
    assertEquals(Json.MAPPER.readTree(FIRST).toString(), json(first()).toString());
  }

  @Test
  void addsBlocksInAnyOrder() throws Exception {
    BlockCounts forward = first();
    forward.add(second());
    BlockCounts backward = second();
    backward.add(first());
    assertEquals(Json.MAPPER.readTree(BOTH).toString(), json(forward).toString());
    assertEquals(json(forward), json(backward));
  }

  @Test
  void anEmptyBlockChangesNothing() {
    BlockCounts counts = first();
    counts.add(new BlockCounts());
    assertEquals(json(first()), json(counts));
  }

  @Test
  void theLargestTimestampIsATimestamp() {
    BlockCounts counts = new BlockCounts();
    add(counts, Records.record(0, Long.MAX_VALUE, "k", "v"));
    assertEquals(Long.MAX_VALUE, json(counts).path("first_timestamp").asLong());
    assertEquals(Long.MAX_VALUE, counts.lastTimestamp());
  }

  @Test
  void aRecordWithoutATimestampHasNoAge() {
    BlockCounts counts = new BlockCounts();
    add(counts, Records.record(0, -1, "k", "v"));
    assertEquals(1, json(counts).path("records").asLong());
    assertEquals(0, json(counts).path("expired").asLong());
    assertTrue(json(counts).path("first_timestamp").isMissingNode());
    assertTrue(counts.lastTimestamp() < 0);
  }
}
