package io.topicwarden.reader.codecs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.topicwarden.reader.Json;
import java.nio.ByteBuffer;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Test;

/** Counts of the schema ids in Confluent's wire format. */
class SchemaIdsTest {
  private final SchemaIds ids = new SchemaIds(10);

  private static byte[] wire(int id) {
    return ByteBuffer.allocate(6).put((byte) 0).putInt(id).array();
  }

  private JsonNode json() {
    ObjectNode json = Json.MAPPER.createObjectNode();
    ids.writeTo(json);
    return json;
  }

  @Test
  void eachIdIsCountedByBlockWithItsFirstOffset() {
    ids.add("value", wire(7), 3, false);
    ids.add("value", wire(8), 4, false);
    ids.add("value", wire(7), 5, false);
    ids.add("value", wire(7), 10, false);
    assertEquals(
        "{\"value\":[[0,7,false,2,3],[0,8,false,1,4],[1,7,false,1,10]]}", json().toString());
  }

  @Test
  void keysAndValuesAndInvalidRecordsAreCountedApart() {
    ids.add("key", wire(-1), 0, false);
    ids.add("value", wire(7), 0, true);
    ids.add("value", wire(7), 1, false);
    assertEquals("[[0,-1,false,1,0]]", json().path("key").toString());
    assertEquals("[[0,7,true,1,0],[0,7,false,1,1]]", json().path("value").toString());
  }

  @Test
  void recordsThatAreNotInTheWireFormatHaveNoIdAndTombstonesDoNotCount() {
    ids.add("value", null, 0, false);
    assertTrue(ids.isEmpty());
    ids.add("value", new byte[4], 1, true);
    ids.add("value", new byte[] {1, 0, 0, 0, 7}, 2, true);
    assertEquals("[[0,null,true,2,1]]", json().path("value").toString());
  }

  @Test
  void theNumberOfIdsIsBounded() {
    for (int id = 0; id < SchemaIds.MAX_IDS + 5; id++) {
      ids.add("value", wire(id), 0, false);
    }
    ids.add("value", wire(0), 1, false);
    JsonNode rows = json().path("value");
    assertEquals(SchemaIds.MAX_IDS + 1, rows.size());
    assertEquals("[0,0,false,2,0]", rows.path(0).toString());
    assertEquals("[0,\"others\",false,5,0]", rows.path(SchemaIds.MAX_IDS).toString());
  }

  @Test
  void onlyThePartsThatTheContractNamesAreCounted() throws Exception {
    String contract =
        "{\"key\": {\"format\": \"int\"}, \"value\": {\"format\": \"avro\", \"registry\": true, "
            + "\"subject\": \"s\", \"ids\": true}}";
    ConsumerRecord<byte[], byte[]> record =
        new ConsumerRecord<>(
            "orders",
            0,
            7,
            1_700_000_000_123L,
            TimestampType.CREATE_TIME,
            0,
            0,
            wire(1),
            wire(2),
            new RecordHeaders(),
            Optional.empty());
    new RecordContract(Json.MAPPER.readTree(contract), null, null)
        .validate(record, new FaultCounts(), ids);
    assertEquals("{\"value\":[[0,2,false,1,7]]}", json().toString());
  }
}
