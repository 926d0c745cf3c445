package io.topicwarden.reader.inference;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.topicwarden.reader.Json;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Test;

class TopicSummaryTest {
  private static final String SETTINGS =
      "{\"show_values\": false, \"salt\": \"s\", \"partitions\": {\"t\": 3}}";

  private static ConsumerRecord<byte[], byte[]> record(
      int partition, long offset, byte[] key, byte[] value, String... headers) {
    RecordHeaders names = new RecordHeaders();
    for (String header : headers) {
      names.add(header, new byte[0]);
    }
    return new ConsumerRecord<>(
        "t",
        partition,
        offset,
        1_000 + offset,
        TimestampType.CREATE_TIME,
        0,
        0,
        key,
        value,
        names,
        Optional.empty());
  }

  private static ConsumerRecord<byte[], byte[]> draw(Random random, long offset) {
    byte[] key = random.nextInt(9) == 0 ? null : ("k" + random.nextInt(200)).getBytes(UTF_8);
    byte[] value =
        switch (random.nextInt(5)) {
          case 0 -> null;
          case 1 -> ByteBuffer.allocate(8).putLong(random.nextInt(1 << 20)).array();
          case 2 -> new byte[] {0, 0, 0, 0, (byte) random.nextInt(90), 7};
          case 3 -> "{\"a\": [1.50, \"x\", null]}".getBytes(UTF_8);
          default -> ("{\"a\": " + random.nextInt() + "}").getBytes(UTF_8);
        };
    String header = "h" + random.nextInt(offset > 250 ? 70 : 3);
    return record(random.nextInt(3), offset, key, value, header, "always");
  }

  @Test
  void anySplitMergedInAnyOrderIsTheSummaryOfAllRecords() {
    for (int seed = 0; seed < 20; seed++) {
      Random random = new Random(seed);
      Settings settings = Settings.parse(SETTINGS);
      TopicSummary whole = new TopicSummary("t", settings);
      List<TopicSummary> parts = new ArrayList<>();
      for (int part = 0; part < 1 + random.nextInt(6); part++) {
        parts.add(new TopicSummary("t", settings));
      }
      int records = seed < 10 ? 200 : 900;
      for (long offset = 0; offset < records; offset++) {
        ConsumerRecord<byte[], byte[]> record = draw(random, offset);
        whole.add(record);
        parts.get(random.nextInt(parts.size())).add(record);
      }
      List<String> texts = new ArrayList<>();
      parts.forEach(part -> texts.add(part.toJson().toString()));
      Collections.shuffle(texts, random);
      String expected = TopicSummary.merge(List.of(whole.toJson().toString()), SETTINGS);
      assertEquals(expected, TopicSummary.merge(texts, SETTINGS), "seed " + seed);
    }
  }

  private static JsonNode key(byte[]... keys) {
    TopicSummary summary = new TopicSummary("t", Settings.parse(SETTINGS));
    for (int i = 0; i < keys.length; i++) {
      summary.add(record(0, i, keys[i], null));
    }
    return summary.toJson().path("key");
  }

  private static JsonNode textKeys(String... keys) {
    byte[][] encoded = new byte[keys.length][];
    for (int i = 0; i < keys.length; i++) {
      encoded[i] = keys[i].getBytes(UTF_8);
    }
    return key(encoded).path("not_in_format").path("json");
  }

  @Test
  void eachJsonTextIsRecognised() {
    JsonNode missed =
        textKeys("{}", " [1]\n", "\"a\"", "true", "false\t", "null", "\r-1.5e+3 ", "0");
    assertTrue(missed.isMissingNode(), missed.toString());
  }

  @Test
  void otherTextIsNot() {
    String[] texts = {"", " ", "k1", "tree", "nil", "{", "{]", "\"", "1-1", "é", "12 34", "fe"};
    for (String text : texts) {
      assertEquals("[1,0,0]", textKeys(text).toString(), text);
    }
  }

  @Test
  void eachFormatIsTriedOnEachRecord() {
    JsonNode missed =
        key(
                "00000000-0000-0000-0000-000000000001".getBytes(UTF_8),
                ByteBuffer.allocate(4).putInt(7).array(),
                ByteBuffer.allocate(8).putLong(-1).array(),
                new byte[] {0, 0, 0, 0, 9, 'x'},
                "{}".getBytes(UTF_8))
            .path("not_in_format");
    assertEquals("[4,0,1]", missed.path("uuid").toString());
    assertEquals("[4,0,0]", missed.path("int").toString());
    assertEquals("[4,0,0]", missed.path("long").toString());
    assertEquals("[4,0,0]", missed.path("registry").toString());
    assertEquals("[4,0,0]", missed.path("json").toString());
    assertEquals("[1,0,2]", missed.path("string").toString());
    assertEquals("[3,0,1]", missed.path("text").toString());
  }

  @Test
  void placementAndHeadersAreCounted() {
    TopicSummary summary = new TopicSummary("t", Settings.parse(SETTINGS));
    byte[] key = "100:48069".getBytes(UTF_8);
    for (int partition = 0; partition < 3; partition++) {
      summary.add(record(partition, 5, key, null, "trace-id", "jane@example.org"));
    }
    JsonNode json = summary.toJson();
    assertEquals(2, json.path("misplaced").path("murmur2").get(0).asInt());
    assertEquals("{\"trace-id\":{}}", json.path("headers").toString());
    assertEquals(1, json.path("key_hashes").size());
  }

  @Test
  void manyNamesOfWhichEachObjectHasFewAreAMap() throws Exception {
    TopicSummary summary = new TopicSummary("t", Settings.parse(SETTINGS));
    for (int i = 0; i < 100; i++) {
      String number = i % 26 == 0 ? "1" : "0.5"; // integers are numbers
      String text = "{\"price\": {\"" + (char) ('a' + i % 26) + "\": " + number + "}}";
      summary.add(record(0, i, null, text.getBytes(UTF_8), i > 3 ? "h" : "other"));
    }
    JsonNode json =
        Json.MAPPER.readTree(TopicSummary.merge(List.of(summary.toJson().toString()), SETTINGS));
    JsonNode price = json.path("value").path("json").path("fields").path("price");
    assertFalse(price.has("fields"));
    assertEquals("[96,0,1]", price.path("others").path("types").path("number").toString());
    assertEquals("[4,0,0]", json.path("headers").path("h").path("missing").toString());
  }

  @Test
  void valuesOfFieldsThatLookPersonalAreNeverShown() {
    String settings = SETTINGS.replace("false", "true");
    TopicSummary summary = new TopicSummary("t", Settings.parse(settings));
    String text =
        "{\"contact\": \"a@example.org\", \"iban\": \"marked\", \"ssn\": 771177, \"state\": \"sent\"}";
    summary.add(record(0, 1, null, text.getBytes(UTF_8)));
    String merged = TopicSummary.merge(List.of(summary.toJson().toString()), settings);
    assertTrue(merged.contains("sent"));
    for (String value : List.of("example.org", "marked", "771177")) {
      assertFalse(merged.contains(value), value);
    }
  }

  @Test
  void noValueOfARecordIsKept() throws Exception {
    TopicSummary summary = new TopicSummary("t", Settings.parse(SETTINGS));
    byte[] value = "{\"a\": {\"b\": [\"marked\", 771177]}, \"c\": \"marked\"}".getBytes(UTF_8);
    summary.add(record(0, 1, "\"marked\"".getBytes(UTF_8), value));
    String text = summary.toJson().toString();
    assertFalse(text.contains("marked") || text.contains("771177"));
    assertTrue(Json.MAPPER.readTree(text).path("value").path("json").path("fields").has("c"));
  }
}
