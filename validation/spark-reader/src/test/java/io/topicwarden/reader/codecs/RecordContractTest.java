package io.topicwarden.reader.codecs;

import static io.topicwarden.reader.codecs.Faults.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.topicwarden.reader.Json;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Contracts of records, with CEL expressions. */
class RecordContractTest {
  private static final long TIME = 1_700_000_000_123L;

  private static List<String> faults(String contract, ConsumerRecord<byte[], byte[]> record)
      throws Exception {
    FaultCounts counts = new FaultCounts();
    new RecordContract(Json.MAPPER.readTree(contract), null, null)
        .validate(record, counts, new SchemaIds(1));
    ArrayNode json = Json.MAPPER.createArrayNode();
    counts.writeTo(json);
    List<String> faults = new ArrayList<>();
    for (JsonNode fault : json) {
      String undecidable = fault.path("undecided").asBoolean() ? " (undecidable)" : "";
      faults.add(fault.path("rule").asText() + ": " + fault.path("reason").asText() + undecidable);
    }
    return faults;
  }

  private static ConsumerRecord<byte[], byte[]> record(
      byte[] key, byte[] value, Header... headers) {
    return new ConsumerRecord<>(
        "orders",
        0,
        7,
        TIME,
        TimestampType.CREATE_TIME,
        0,
        0,
        key,
        value,
        new RecordHeaders(headers),
        Optional.empty());
  }

  @Test
  void aSchemaThatAHeaderNamesIsUndecidable() throws Exception {
    String part = "{\"format\": \"avro\", \"registry\": true, \"subject\": \"s\", \"ids\": true}";
    RecordContract contract =
        new RecordContract(
            Json.MAPPER.readTree("{\"key\": " + part + ", \"value\": " + part + "}"),
            new SchemaRegistryClient(Json.MAPPER.createObjectNode().put("url", "http://unused")),
            null);
    FaultCounts counts = new FaultCounts();
    SchemaIds ids = new SchemaIds(1);
    byte[] likeAnId = {0, 0, 0, 0, 5, 6};
    contract.validate(
        record(
            likeAnId,
            likeAnId,
            new RecordHeader("__key_schema_id", new byte[17]),
            new RecordHeader("__value_schema_id", new byte[17])),
        counts,
        ids);
    contract.validate(record(null, null, new RecordHeader("__value_schema_id", null)), counts, ids);
    ObjectNode json = Json.MAPPER.createObjectNode();
    ids.writeTo(json);
    assertEquals("{\"value\":[[7,null,false,1,7]],\"key\":[[7,null,false,1,7]]}", json.toString());
    ArrayNode faults = Json.MAPPER.createArrayNode();
    counts.writeTo(faults);
    assertEquals(2, faults.size());
    for (JsonNode fault : faults) {
      String name = "__" + fault.path("rule").asText().replace("-schema", "") + "_schema_id";
      assertEquals(
          "its schema is named in the header " + name + ", which the audit does not read",
          fault.path("reason").asText());
      assertEquals(true, fault.path("undecided").asBoolean());
    }
  }

  private static final String JSON_VALUE = "\"value\": {\"format\": \"json\"}";

  private static String requiring(String expression, String more) {
    return "{\"expressions\": [{\"id\": \"rule\", \"require\": "
        + Json.MAPPER.getNodeFactory().textNode(expression)
        + "}]"
        + (more.isEmpty() ? "" : ", " + more)
        + "}";
  }

  @Test
  void aRecordWithoutATimestampIsUndecidableByAnExpressionThatNeedsIt() throws Exception {
    ConsumerRecord<byte[], byte[]> undated =
        new ConsumerRecord<>(
            "orders",
            0,
            7,
            -1,
            TimestampType.CREATE_TIME,
            0,
            0,
            null,
            bytes("{}"),
            new RecordHeaders(),
            Optional.empty());
    assertEquals(
        List.of("expression:rule: cannot be evaluated: the record has no timestamp (undecidable)"),
        faults(requiring("timestamp > timestamp('2023-11-14T22:13:20Z')", JSON_VALUE), undated));
    assertEquals(List.of(), faults(requiring("true", JSON_VALUE), undated));
  }

  @Test
  void anEmptyContractAcceptsEverything() throws Exception {
    assertEquals(List.of(), faults("{}", record(null, bytes(0xff))));
  }

  @Test
  void validatesKeyAndValue() throws Exception {
    String contract = "{\"key\": {\"format\": \"int\"}, \"value\": {\"format\": \"json\"}}";
    assertEquals(List.of(), faults(contract, record(new byte[4], bytes("{}"))));
    assertEquals(List.of(), faults(contract, record(null, null)));
    assertEquals(
        List.of("key-schema: not 4 bytes", "value-schema: not JSON: empty"),
        faults(contract, record(bytes("k"), bytes(""))));
  }

  @Test
  void limitsSizeAndTimestamp() throws Exception {
    ConsumerRecord<byte[], byte[]> record = record(new byte[2], new byte[3]);
    assertEquals(List.of(), faults("{\"largest\": 5, \"latest\": " + TIME + "}", record));
    assertEquals(
        List.of(
            "record-size: larger than declared", "timestamp-future: further ahead than declared"),
        faults("{\"largest\": 4, \"latest\": " + (TIME - 1) + "}", record));
  }

  @Test
  void countsARecordOnceForAllMissingHeaders() throws Exception {
    String contract = "{\"headers\": [\"a\", \"b\", \"c\"]}";
    assertEquals(
        List.of("header: missing a, c"),
        faults(contract, record(null, null, new RecordHeader("b", null))));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "key == b'k'",
        "value.id == 1 && value.price == 2.5 && value.none == null",
        "value.list[1] == 'x' && size(value.list) == 2",
        "headers.trace == 't' && headers.empty == null",
        "timestamp > timestamp('2023-11-14T22:13:20.122Z')",
        "timestamp.getMilliseconds() == 123",
        "value.id < 1.5",
        "has(value.id) && !has(value.other)"
      })
  void expressionsSeeTheRecord(String expression) throws Exception {
    byte[] value = bytes("{\"id\": 1, \"price\": 2.5, \"none\": null, \"list\": [0, \"x\"]}");
    ConsumerRecord<byte[], byte[]> record =
        record(
            bytes("k"),
            value,
            new RecordHeader("trace", bytes("t")),
            new RecordHeader("empty", null));
    assertEquals(List.of(), faults(requiring(expression, JSON_VALUE), record));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "value.id == 2|not true",
        "value.id|is neither true nor false (undecidable)",
        "value.other == 1|cannot be evaluated: ATTRIBUTE_NOT_FOUND (undecidable)",
        "value.id / 0 == 1|cannot be evaluated: DIVIDE_BY_ZERO (undecidable)"
      })
  void expressionsThatAreNotTrueAreFaults(String expression, String reason) throws Exception {
    assertEquals(
        List.of("expression:rule: " + reason),
        faults(requiring(expression, JSON_VALUE), record(null, bytes("{\"id\": 1}"))));
  }

  @Test
  void anExpressionThatIsNotCelIsUndecidable() throws Exception {
    List<String> faults = faults(requiring("value ==", JSON_VALUE), record(null, bytes("{}")));
    assertEquals(1, faults.size());
    assertEquals(
        true,
        faults.get(0).startsWith("expression:rule: the expression cannot be used: CelValidation"),
        faults.get(0));
  }

  @Test
  void expressionsAreAboutWellFormedRecordsOnly() throws Exception {
    assertEquals(
        List.of("value-schema: not JSON"),
        faults(requiring("false", JSON_VALUE), record(null, bytes("{"))));
  }

  @Test
  void anUndecidablePartMakesExpressionsUndecidable() throws Exception {
    String unusable = "\"value\": {\"format\": \"avro\", \"schema\": \"{\"}";
    List<String> faults = faults(requiring("true", unusable), record(null, bytes("x")));
    assertEquals(2, faults.size());
    String reason = "the schema cannot be used: ";
    assertEquals(true, faults.get(0).startsWith("value-schema: " + reason), faults.get(0));
    assertEquals(
        true,
        faults.get(1).startsWith("expression:rule: cannot be evaluated: " + reason),
        faults.get(1));
  }

  @Test
  void aTombstoneBreaksOnlyWhatNeedsNoValue() throws Exception {
    ConsumerRecord<byte[], byte[]> tombstone = record(bytes("k"), null);
    assertEquals(List.of(), faults(requiring("value.id == 1", JSON_VALUE), tombstone));
    assertEquals(
        List.of("expression:rule: not true"),
        faults(requiring("key == b'other'", JSON_VALUE), tombstone));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"format\": \"json\", \"unusable\": \"no file\"}|the schema cannot be used: no file",
        "{\"format\": \"avro\", \"registry\": true}|the stack has no Schema Registry",
        "{\"format\": \"csv\"}|the schema cannot be used: "
            + "IllegalArgumentException: no format csv"
      })
  void whatCannotBeValidatedIsUndecidable(String value, String reason) throws Exception {
    assertEquals(
        List.of("value-schema: " + reason + " (undecidable)"),
        faults("{\"value\": " + value + "}", record(null, bytes("x"))));
  }

  @Test
  void contractsAreByTopic() {
    Contracts contracts =
        new Contracts(
            "{\"a\": {\"partitions\": 6, \"late\": 5, \"records\": {}}, \"b\": {}}",
            "{\"url\": \"http://localhost\"}");
    Contracts.TopicContract a = contracts.forTopic("a");
    assertEquals(6, a.partitions());
    assertEquals(5, a.maxLateMs());
    assertSame(a.records(), contracts.forTopic("a").records());
    assertEquals(
        new Contracts.TopicContract(0, Long.MAX_VALUE, null, 5, 0, null), contracts.forTopic("b"));
    assertNull(contracts.forTopic("c").records());
    assertThrows(IllegalArgumentException.class, () -> new Contracts("{", null));
    assertThrows(IllegalArgumentException.class, () -> new Contracts(null, "{"));
    assertNull(new Contracts(null, null).forTopic("a").records());
  }
}
