package io.topicwarden.reader.codecs;

import static io.topicwarden.reader.codecs.Faults.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.sun.net.httpserver.HttpServer;
import io.topicwarden.reader.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** New schemas, with a Schema Registry on this machine that has the schemas of writers. */
class NewSchemaTest {
  private static final String RECORD =
      "{\"type\": \"record\", \"name\": \"R\", \"fields\": [{\"name\": \"id\", \"type\": %s}]}";

  private final Map<String, String> answers = new HashMap<>();
  private final FaultCounts faults = new FaultCounts();
  private final RecordHeaders headers = new RecordHeaders();
  private HttpServer server;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/",
        exchange -> {
          String unknown = "{\"error_code\": 40403, \"message\": \"Schema not found\"}";
          String answer = answers.get(exchange.getRequestURI().getPath());
          byte[] body = (answer == null ? unknown : answer).getBytes(StandardCharsets.UTF_8);
          exchange.sendResponseHeaders(answer == null ? 404 : 200, body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private void register(int id, String type, String schema, String... subjects) {
    answers.put(
        "/schemas/ids/" + id,
        Json.MAPPER.createObjectNode().put("schema", schema).put("schemaType", type).toString());
    ArrayNode versions = Json.MAPPER.createArrayNode();
    for (String subject : subjects) {
      versions.addObject().put("subject", subject);
    }
    answers.put("/schemas/ids/" + id + "/versions", versions.toString());
  }

  private static ObjectNode declared(String format, String schema) {
    ObjectNode declared = Json.MAPPER.createObjectNode().put("id", "0").put("part", "value");
    declared.putArray("subjects").add("s").add("earlier");
    return declared.put("format", format).put("schema", schema);
  }

  /** Validates values at offsets 0, 1, …, with timestamps 100, 99, …; returns the faults. */
  private String faults(JsonNode declared, byte[]... values) {
    ObjectNode settings = Json.MAPPER.createObjectNode();
    settings.put("url", "http://127.0.0.1:" + server.getAddress().getPort());
    NewSchema schema = new NewSchema(declared, new SchemaRegistryClient(settings));
    for (int i = 0; i < values.length; i++) {
      schema.validate(
          new ConsumerRecord<>(
              "t",
              0,
              i,
              100 - i,
              TimestampType.CREATE_TIME,
              0,
              0,
              null,
              values[i],
              headers,
              Optional.empty()),
          faults);
    }
    ArrayNode json = Json.MAPPER.createArrayNode();
    faults.writeTo(json);
    StringBuilder lines = new StringBuilder();
    for (JsonNode fault : json) {
      lines
          .append(fault.path("undecided").asBoolean() ? "undecided" : fault.path("rule").asText())
          .append(" ")
          .append(fault.path("count"))
          .append(" ")
          .append(fault.path("offsets").path(0))
          .append("-")
          .append(fault.path("last_offset"))
          .append(" ")
          .append(fault.path("newest"))
          .append(" ")
          .append(fault.path("reason").asText())
          .append("\n");
    }
    return lines.toString();
  }

  private static byte[] framed(int id, int... data) {
    return ByteBuffer.allocate(5 + data.length).put((byte) 0).putInt(id).put(bytes(data)).array();
  }

  private static byte[] framed(int id, String text) {
    byte[] data = bytes(text);
    return ByteBuffer.allocate(5 + data.length).put((byte) 0).putInt(id).put(data).array();
  }

  @Test
  void countsOnlyRecordsWithAnUnresolvablePart() {
    register(1, "AVRO", RECORD.formatted("[\"null\", \"int\"]"), "s");
    assertEquals(
        "unreadable:0 2 0-2 100 /id: expected int, got null\n",
        faults(
            declared("avro", RECORD.formatted("\"int\"")),
            framed(1, 0),
            framed(1, 2, 4),
            framed(1, 0),
            null));
  }

  @Test
  void countsRecordsOfAnEarlierSubject() {
    register(1, "AVRO", RECORD.formatted("\"string\""), "earlier");
    assertEquals(
        "unreadable:0 1 0-0 100 /id: expected int, got string\n",
        faults(declared("avro", RECORD.formatted("\"int\"")), framed(1, 0)));
  }

  @Test
  void namesTheMissingField() {
    register(
        1, "AVRO", RECORD.formatted(RECORD.replace("\"R\"", "\"I\"").formatted("\"int\"")), "s");
    String inner =
        "{\"type\": \"record\", \"name\": \"I\", \"fields\": [{\"name\": \"n\", \"type\": \"int\"}]}";
    assertEquals(
        "unreadable:0 1 0-0 100 /id/n: missing, and the new schema has no default\n",
        faults(declared("avro", RECORD.formatted(inner)), framed(1, 2)));
  }

  @Test
  void namesTheMissingSymbol() {
    String symbols = "{\"type\": \"enum\", \"name\": \"E\", \"symbols\": [%s]}";
    register(1, "AVRO", RECORD.formatted(symbols.formatted("\"A\", \"B\"")), "s");
    assertEquals(
        "unreadable:0 1 1-1 99 /id: no symbol B\n",
        faults(
            declared("avro", RECORD.formatted(symbols.formatted("\"A\""))),
            framed(1, 0),
            framed(1, 2)));
  }

  @Test
  void aWriterMayHaveADefaultOfAnotherType() {
    String withDefault = RECORD.formatted("\"int\", \"default\": null");
    register(1, "AVRO", withDefault, "s");
    assertEquals(
        "unreadable:0 1 0-0 100 /id: expected string, got int\n",
        faults(declared("avro", RECORD.formatted("\"string\"")), framed(1, 2)));
    assertEquals(
        "",
        faults(declared("avro", RECORD.formatted("\"long\"")), framed(1, 2))
            .lines()
            .skip(1)
            .findFirst()
            .orElse(""));
  }

  @Test
  void aSchemaThatAHeaderNamesIsUndecided() {
    headers.add("__value_schema_id", new byte[17]);
    assertEquals(
        "undecided 1 0-0 100 its schema is named in the header __value_schema_id, "
            + "which the audit does not read\n",
        faults(declared("avro", "\"int\""), bytes(0, 0, 0, 0, 1, 2)));
  }

  @Test
  void recordsThatCouldNotBeReadBeforeAreUnaffected() {
    register(1, "AVRO", RECORD.formatted("\"int\""), "s");
    register(2, "AVRO", RECORD.formatted("\"int\""), "other");
    assertEquals(
        """
        unaffected:0 1 0-0 100 not of this Avro schema: it ends too early
        unaffected:0 1 1-1 99 not in Confluent's wire format
        unaffected:0 1 2-2 98 schema id that the registry does not know
        unaffected:0 1 3-3 97 schema id of another subject
        """,
        faults(
            declared("avro", RECORD.formatted("\"string\"")),
            framed(1),
            bytes(1, 2),
            framed(9, 0),
            framed(2, 2)));
  }

  @Test
  void aSchemaWhoseVersionsAreDeletedIsOfTheSubject() {
    register(1, "AVRO", "\"int\"");
    register(2, "AVRO", "\"int\"");
    answers.remove("/schemas/ids/2/versions");
    assertEquals(
        "unreadable:0 2 0-1 100 the value: expected string, got int\n",
        faults(declared("avro", "\"string\""), framed(1, 2), framed(2, 2)));
  }

  @Test
  void bytesAreReadAsTheyAre() {
    register(1, "AVRO", "\"bytes\"", "s");
    assertEquals("", faults(declared("avro", "\"int\""), framed(1, 255, 255)));
  }

  @Test
  void javasReaderAcceptsMoreThanTheSpecification() {
    register(1, "AVRO", "\"string\"", "s");
    assertEquals("", faults(declared("avro", "\"bytes\""), framed(1, 2, 255), framed(1, 0, 1, 2)));
  }

  @Test
  void aBlockOfAnotherSizeThanItStatesIsUndecidable() {
    register(1, "AVRO", RECORD.formatted("{\"type\": \"array\", \"items\": \"int\"}"), "s");
    String without = "{\"type\": \"record\", \"name\": \"R\", \"fields\": []}";
    assertEquals(
        "undecided 1 1-1 99 an Avro block of another size than it states\n",
        faults(declared("avro", without), framed(1, 1, 2, 8, 0), framed(1, 1, 4, 8, 0)));
  }

  @Test
  void jsonIsValidatedByBothSchemas() {
    register(1, "JSON", "{\"required\": [\"a\"]}", "s");
    assertEquals(
        """
        unreadable:0 1 1-1 99 /b: expected integer, got string
        unaffected:0 1 2-2 98 the document: missing a
        """,
        faults(
            declared("json", "{\"properties\": {\"b\": {\"type\": \"integer\"}}}"),
            framed(1, "{\"a\": 1, \"b\": 2}"),
            framed(1, "{\"a\": 1, \"b\": \"2\"}"),
            framed(1, "{\"b\": \"2\"}")));
  }

  @Test
  void anotherFormatCannotBeRead() {
    register(1, "AVRO", "\"int\"", "s");
    assertEquals(
        "unreadable:0 1 0-0 100 written as AVRO, the new schema is JSON\n",
        faults(declared("json", "{}"), framed(1, 2)));
  }

  @Test
  void protobufFailsForMissingFieldsTextAndMessages() {
    register(
        1,
        "PROTOBUF",
        "syntax = \"proto3\"; package p; message A { bytes x = 1; } message B { bytes x = 1; }",
        "s");
    FileDescriptorProto file =
        FileDescriptorProto.newBuilder()
            .setName("f.proto")
            .setPackage("p")
            .setSyntax("proto2")
            .addMessageType(
                DescriptorProto.newBuilder()
                    .setName("A")
                    .addField(
                        FieldDescriptorProto.newBuilder()
                            .setName("y")
                            .setNumber(1)
                            .setType(FieldDescriptorProto.Type.TYPE_INT32)
                            .setLabel(FieldDescriptorProto.Label.LABEL_REQUIRED)))
            .build();
    ObjectNode declared = declared("protobuf", "");
    FileDescriptorSet set = FileDescriptorSet.newBuilder().addFile(file).build();
    declared.put("descriptors", Base64.getEncoder().encodeToString(set.toByteArray()));
    assertEquals(
        """
        unreadable:0 1 0-0 100 not a A of Protocol Buffers: missing required y
        unaffected:0 1 1-1 99 not a A of Protocol Buffers
        unreadable:0 1 2-2 98 the new schema has no message p.B
        """,
        faults(declared, framed(1, 0), framed(1, 0, 10, 9), framed(1, 2, 2)));
  }

  @Test
  void anUnusableSchemaAndALostRegistryAreUndecidable() {
    register(1, "AVRO", "\"int\"", "s");
    assertEquals(
        true,
        faults(declared("avro", "{\"type\": \"x\"}"), framed(1, 2))
            .startsWith("undecided 1 0-0 100 the new schema cannot be used: "));
    server.stop(0);
    assertEquals(
        true,
        faults(declared("avro", "\"int\""), framed(1, 2))
            .endsWith("the Schema Registry cannot be reached: ConnectException\n"));
  }
}
