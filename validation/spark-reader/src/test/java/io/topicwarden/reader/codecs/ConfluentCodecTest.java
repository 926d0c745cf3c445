package io.topicwarden.reader.codecs;

import static io.topicwarden.reader.codecs.Faults.assertInvalid;
import static io.topicwarden.reader.codecs.Faults.assertUndecidable;
import static io.topicwarden.reader.codecs.Faults.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.sun.net.httpserver.HttpServer;
import io.topicwarden.reader.Json;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The wire format, with a client of a Schema Registry on this machine. */
class ConfluentCodecTest {
  private static final String INT_RECORD =
      "{\"type\": \"record\", \"name\": \"R\", \"fields\": [{\"name\": \"id\", \"type\": \"int\"}]}";

  private final Map<String, String> answers = new HashMap<>();
  private final List<String> requests = new ArrayList<>();
  private HttpServer server;
  private int status = 200;

  @BeforeEach
  void start() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.createContext(
        "/base",
        exchange -> {
          String path = exchange.getRequestURI().getRawPath().substring("/base".length());
          String query = exchange.getRequestURI().getRawQuery();
          path = query == null ? path : path + "?" + query;
          requests.add(path + " " + exchange.getRequestHeaders().getFirst("Authorization"));
          String answer = answers.get(path);
          String unknown = "{\"error_code\": 40403, \"message\": \"Schema not found\"}";
          byte[] body = (answer == null ? unknown : answer).getBytes(StandardCharsets.UTF_8);
          int status = answer == null ? 404 : answer.isEmpty() ? 500 : this.status;
          exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
          exchange.getResponseBody().write(body);
          exchange.close();
        });
    server.start();
  }

  @AfterEach
  void stop() {
    server.stop(0);
  }

  private SchemaRegistryClient client(boolean authenticates) {
    ObjectNode settings = Json.MAPPER.createObjectNode();
    settings.put("url", "http://127.0.0.1:" + server.getAddress().getPort() + "/base/");
    if (authenticates) {
      settings.put("username", "user").put("password", "pw");
    }
    return new SchemaRegistryClient(settings);
  }

  private void register(int id, String type, String schema, String subject) {
    ObjectNode answer = Json.MAPPER.createObjectNode().put("schema", schema);
    if (type != null) {
      answer.put("schemaType", type);
    }
    answers.put("/schemas/ids/" + id, answer.toString());
    answers.put(
        "/schemas/ids/" + id + "/versions", "[{\"subject\": \"" + subject + "\", \"version\": 1}]");
  }

  private ConfluentCodec codec(String format, String readerSchema) {
    return new ConfluentCodec(
        client(false),
        format,
        "orders-value",
        readerSchema == null ? null : AvroCodec.parse(readerSchema, List.of()));
  }

  private static byte[] framed(int id, int... data) {
    return ByteBuffer.allocate(5 + data.length).put((byte) 0).putInt(id).put(bytes(data)).array();
  }

  @Test
  void decodesAvroByTheWriterSchema() throws RecordFault {
    register(4, null, INT_RECORD, "orders-value");
    ConfluentCodec codec = codec("avro", null);
    assertEquals(Map.of("id", 3L), codec.toCel(codec.decode(framed(4, 6))));
    codec.check(framed(4, 8));
    assertEquals(2, requests.size()); // each schema is fetched once
    assertInvalid(
        "not of this Avro schema: bytes are left over", () -> codec.check(framed(4, 6, 6)));
  }

  @Test
  void theDeclaredSchemaMustReadTheWritersSchema() throws RecordFault {
    register(4, null, INT_RECORD, "orders-value");
    register(5, null, INT_RECORD.replace("\"int\"", "\"string\""), "orders-value");
    ConfluentCodec codec = codec("avro", INT_RECORD.replace("\"int\"", "\"long\""));
    assertEquals(Map.of("id", 3L), codec.toCel(codec.decode(framed(4, 6))));
    for (int i = 0; i < 2; i++) {
      assertInvalid(
          "written by a schema that the declared one cannot read", () -> codec.check(framed(5, 0)));
    }
  }

  @Test
  void avroBytesAreValidWithAndWithoutTheirLength() throws RecordFault {
    register(4, null, "\"bytes\"", "orders-value");
    for (String reader : new String[] {null, "\"bytes\""}) {
      ConfluentCodec codec = codec("avro", reader);
      codec.check(framed(4, 'h', 'e'));
      codec.check(framed(4, 4, 'h', 'e'));
      codec.check(framed(4));
      Object decoded = codec.decode(framed(4, 'h', 'e'));
      assertUndecidable(
          "Avro bytes, which are written with and without a length", () -> codec.toCel(decoded));
    }
  }

  @Test
  void aJsonSchemaWithoutDraftIsOfDraft7() throws RecordFault {
    String schema =
        """
        {"definitions": {"p": {"type": "object"}},
         "properties": {"p": {"$ref": "#/definitions/p", "required": ["x"]}}}
        """;
    register(8, "JSON", schema, "orders-value");
    codec("json", null).check(framed(8, bytesOf("{\"p\": {}}")));
  }

  private static int[] bytesOf(String text) {
    return text.chars().toArray();
  }

  @Test
  void decodesJsonWithReferences() throws RecordFault {
    register(6, "JSON", "{\"$ref\": \"id.json\"}", "orders-value");
    answers.put(
        "/schemas/ids/6",
        """
        {"schemaType": "JSON", "schema": "{\\"$ref\\": \\"https://e.org/id.json\\"}",
         "references": [{"name": "https://e.org/id.json", "subject": "a b", "version": 2}]}
        """);
    answers.put("/subjects/a%20b/versions/2", "{\"schema\": \"{\\\"type\\\": \\\"integer\\\"}\"}");
    ConfluentCodec codec = codec("json", null);
    assertEquals(5L, codec.toCel(codec.decode(framed(6, '5'))));
    assertInvalid(
        "the document: expected integer, got string", () -> codec.check(framed(6, '"', '"')));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "{\"$ref\": \"id.json\"}",
        "{\"$id\": \"root.json\", \"allOf\": [{\"$ref\": \"id.json\"}]}",
        "{\"$id\": \"https://e.org/a/root.json\", \"allOf\": [{\"$ref\": \"id.json\"}]}",
        "{\"$schema\": \"http://json-schema.org/draft-04/schema#\", "
            + "\"id\": \"https://e.org/a/root.json\", \"allOf\": [{\"$ref\": \"id.json\"}]}",
        "{\"$id\": \"https://e.org/a/root.json\", \"id\": \"x y\", \"allOf\": [{\"$ref\": \"more.json\"}]}",
      })
  void resolvesRelativeReferencesOfJson(String schema) throws RecordFault {
    register(6, "JSON", schema, "orders-value");
    ObjectNode answer = Json.MAPPER.createObjectNode();
    answer.put("schemaType", "JSON").put("schema", schema);
    for (String name : List.of("id.json", "more.json", "no URI")) {
      answer
          .withArray("references")
          .addObject()
          .put("name", name)
          .put("subject", name)
          .put("version", 1);
    }
    answers.put("/schemas/ids/6", answer.toString());
    answers.put(
        "/subjects/id.json/versions/1", "{\"schema\": \"{\\\"type\\\": \\\"integer\\\"}\"}");
    answers.put(
        "/subjects/more.json/versions/1", "{\"schema\": \"{\\\"$ref\\\": \\\"id.json\\\"}\"}");
    answers.put("/subjects/no%20URI/versions/1", "{\"schema\": \"{}\"}");
    ConfluentCodec codec = codec("json", null);
    codec.check(framed(6, '5'));
    assertInvalid(
        "the document: expected integer, got string", () -> codec.check(framed(6, '"', '"')));
  }

  @Test
  void decodesProtobufByItsMessagePath() throws RecordFault {
    String proto =
        "syntax = \"proto3\"; message A { int32 x = 1; message B { int32 y = 1; } } message C {}";
    register(7, "PROTOBUF", proto, "orders-value");
    ConfluentCodec codec = codec("protobuf", null);
    assertEquals("x: 9\n", codec.toCel(codec.decode(framed(7, 0, 8, 9))).toString());
    assertEquals("y: 9\n", codec.toCel(codec.decode(framed(7, 4, 0, 0, 8, 9))).toString());
    assertEquals("", codec.toCel(codec.decode(framed(7, 2, 2))).toString());
    assertInvalid(
        "a message path that the schema does not have", () -> codec.check(framed(7, 2, 4)));
    assertInvalid("an invalid message path", () -> codec.check(framed(7, 1)));
    assertInvalid("an invalid message path", () -> codec.check(framed(7, 4, 0)));
    assertInvalid("an invalid message path", () -> codec.check(framed(7)));
  }

  @ParameterizedTest
  @CsvSource({
    "google/protobuf/field_mask.proto, google.protobuf.FieldMask",
    "google/protobuf/api.proto, google.protobuf.Api",
    "google/protobuf/timestamp.proto, google.protobuf.Timestamp",
    "google/type/outer.proto, google.type.Outer",
  })
  void importsWhatRegistriesHaveBuiltIn(String file, String type) throws RecordFault {
    String proto = "syntax = \"proto3\"; import \"%s\"; message A { %s x = 1; }";
    register(7, "PROTOBUF", proto.formatted(file, type), "orders-value");
    ObjectNode settings = Json.MAPPER.createObjectNode();
    settings.put("url", "http://127.0.0.1:" + server.getAddress().getPort() + "/base/");
    settings
        .putObject("protos")
        .put(
            "google/type/outer.proto",
            """
            syntax = "proto3"; package google.type; import "google/type/inner.proto";
            message Outer { Inner i = 1; }
            """)
        .put(
            "google/type/inner.proto",
            "syntax = \"proto3\"; package google.type; message Inner {}");
    ConfluentCodec codec =
        new ConfluentCodec(new SchemaRegistryClient(settings), "protobuf", "orders-value", null);
    codec.check(framed(7, 0, 10, 0));
    assertInvalid("not a A of Protocol Buffers", () -> codec.check(framed(7, 0, 10, 9)));
  }

  @Test
  void readsProtobufThatIsRegisteredAsBase64() throws RecordFault {
    FileDescriptorProto.Builder file = FileDescriptorProto.newBuilder().setName("user.proto");
    file.setSyntax("proto3");
    file.addDependency("google/protobuf/descriptor.proto");
    file.addDependency("google/protobuf/field_mask.proto");
    file.addDependency("google/protobuf/type.proto");
    file.addDependency("other.proto");
    file.addPublicDependency(3);
    DescriptorProto.Builder user = file.addMessageTypeBuilder().setName("User");
    int number = 0;
    for (String type : List.of("google.protobuf.FieldMask", "google.protobuf.Type", "Other")) {
      user.addFieldBuilder()
          .setName("f" + number)
          .setNumber(++number)
          .setType(FieldDescriptorProto.Type.TYPE_MESSAGE)
          .setTypeName("." + type);
    }
    ObjectNode answer = Json.MAPPER.createObjectNode().put("schemaType", "PROTOBUF");
    answer.put("schema", Base64.getEncoder().encodeToString(file.build().toByteArray()));
    answer
        .withArray("references")
        .addObject()
        .put("name", "other.proto")
        .put("subject", "other")
        .put("version", 1);
    register(7, null, "", "orders-value");
    answers.put("/schemas/ids/7", answer.toString());
    FileDescriptorProto.Builder other = FileDescriptorProto.newBuilder().setName("x.proto");
    other.addMessageTypeBuilder().setName("Other");
    answers.put(
        "/subjects/other/versions/1",
        Json.MAPPER
            .createObjectNode()
            .put("schema", Base64.getEncoder().encodeToString(other.build().toByteArray()))
            .toString());
    ConfluentCodec codec = codec("protobuf", null);
    codec.check(framed(7, 0, 26, 0));
    assertInvalid("not a User of Protocol Buffers", () -> codec.check(framed(7, 0, 26, 9)));
    answer.remove("references");
    answers.put("/schemas/ids/7", answer.toString());
    assertUndecidable(
        "the registry's schema cannot be used: IllegalArgumentException: "
            + "unable to find other.proto",
        () -> codec("protobuf", null).check(framed(7, 0)));
  }

  @Test
  void theReasonWhyAProtoCannotBeUsedIsTheSameEachTime() {
    register(7, "PROTOBUF", "syntax = \"proto3\"; massage A {}", "orders-value");
    assertUndecidable(
        "the registry's schema cannot be used: IllegalArgumentException: "
            + "Syntax error in topicwarden.main.proto:1:20: unexpected label: massage",
        () -> codec("protobuf", null).check(framed(7, 0)));
  }

  @Test
  void refusesOtherFrames() {
    register(4, "JSON", "{}", "orders-value");
    register(5, null, "\"int\"", "other-value");
    ConfluentCodec codec = codec("avro", null);
    assertInvalid("not in Confluent's wire format", () -> codec.check(bytes("{\"a\": 1}")));
    assertInvalid("not in Confluent's wire format", () -> codec.check(bytes(0, 0, 0, 0)));
    assertInvalid("schema id of JSON, not of AVRO", () -> codec.check(framed(4, 0)));
    assertInvalid(
        "schema id of another subject than orders-value", () -> codec.check(framed(5, 0)));
    assertInvalid("schema id that the registry does not know", () -> codec.check(framed(9, 0)));
    int before = requests.size();
    assertInvalid("schema id that the registry does not know", () -> codec.check(framed(9, 0)));
    assertEquals(before, requests.size());
  }

  @Test
  void findsIdsInTheContextOfTheSubject() throws RecordFault {
    register(5, null, "\"string\"", "other-value"); // another schema of the default context
    for (int id : List.of(4, 5)) {
      answers.put(
          "/schemas/ids/" + id + "?subject=orders-value",
          """
          {"schema": "[\\"int\\", \\"Money\\"]",
           "references": [{"name": "Money", "subject": "money", "version": 2}]}
          """);
      answers.put(
          "/schemas/ids/" + id + "/versions?subject=orders-value",
          "[{\"subject\": \":.lsrc-1:orders-value\", \"version\": 1}]");
    }
    answers.put(
        "/subjects/%3A.lsrc-1%3Amoney/versions/2",
        "{\"schema\": \"{\\\"type\\\": \\\"fixed\\\", \\\"name\\\": \\\"Money\\\", \\\"size\\\": 1}\"}");
    ConfluentCodec codec = codec("avro", null);
    for (int id : List.of(4, 5)) {
      assertEquals(3L, codec.toCel(codec.decode(framed(id, 0, 6))));
      codec.check(framed(id, 2, 9));
    }
    int before = requests.size();
    codec.check(framed(4, 0, 8));
    assertEquals(before, requests.size());
  }

  @Test
  void anIdOfAnotherSubjectInAContextIsInvalid() {
    answers.put("/schemas/ids/4?subject=orders-value", "{\"schema\": \"\\\"int\\\"\"}");
    answers.put(
        "/schemas/ids/4/versions?subject=orders-value",
        "[{\"subject\": \":.lsrc-1:my-orders-value\", \"version\": 1}]");
    answers.put("/schemas/ids/5?subject=orders-value", "");
    ConfluentCodec codec = codec("avro", null);
    assertInvalid("schema id that the registry does not know", () -> codec.check(framed(4, 0)));
    assertUndecidable("the Schema Registry answered 500", () -> codec.check(framed(5, 0)));
  }

  @Test
  void aDefaultOfAnotherTypeIsNoReasonNotToReadTheWriter() throws RecordFault {
    String withDefault = INT_RECORD.replace("\"int\"}", "\"int\", \"default\": null}");
    String aliased =
        INT_RECORD.replace("\"name\": \"id\"", "\"name\": \"number\", \"aliases\": [\"id\"]");
    register(4, null, withDefault, "orders-value");
    for (String reader : new String[] {null, INT_RECORD}) {
      ConfluentCodec codec = codec("avro", reader);
      codec.check(framed(4, 6));
      assertInvalid("not of this Avro schema: it ends too early", () -> codec.check(framed(4)));
    }
    assertUndecidable(
        "the registry's schema cannot be used: AvroTypeException: "
            + "Invalid default for field number: null not a \"int\"",
        () -> codec("avro", aliased).check(framed(4, 6)));
  }

  private void registerWithRules(int id, String type, String schema, String rules) {
    register(id, type, schema, "orders-value");
    String answer = answers.get("/schemas/ids/" + id);
    answers.put(
        "/schemas/ids/" + id,
        answer.substring(0, answer.length() - 1) + ", \"ruleSet\": {" + rules + "}}");
  }

  @Test
  void encryptedDataIsUndecidable() throws RecordFault {
    registerWithRules(4, null, "\"int\"", "\"encodingRules\": [{\"type\": \"ENCRYPT_PAYLOAD\"}]");
    registerWithRules(5, null, "\"int\"", "\"domainRules\": [{\"type\": \"ENCRYPT_PAYLOAD\"}]");
    registerWithRules(
        6, null, "\"int\"", "\"encodingRules\": [{\"type\": \"X\", \"disabled\": true}]");
    registerWithRules(7, null, "\"int\"", "\"domainRules\": [{\"type\": \"CEL\"}]");
    ConfluentCodec codec = codec("avro", null);
    for (int id : List.of(4, 5)) {
      assertUndecidable(
          "a rule of its schema encrypts the data", () -> codec.check(framed(id, 1, 2, 3)));
    }
    for (int id : List.of(6, 7)) {
      assertEquals(3L, codec.toCel(codec.decode(framed(id, 6))));
      assertInvalid(
          "not of this Avro schema: bytes are left over", () -> codec.check(framed(id, 6, 6)));
    }
  }

  @Test
  void encryptedFieldsAreComparedWithNoRule() throws RecordFault {
    String rules = "\"domainRules\": [{\"type\": \"CEL\"}, {\"type\": \"ENCRYPT\"}]";
    registerWithRules(4, "JSON", "{\"properties\": {\"a\": {\"maxLength\": 2}}}", rules);
    registerWithRules(5, null, "\"string\"", rules);
    String reason = "a rule of its schema encrypts fields";
    ConfluentCodec json = codec("json", null);
    json.check(framed(4, bytesOf("{\"a\": \"xx\"}")));
    assertUndecidable(reason, () -> json.check(framed(4, bytesOf("{\"a\": \"xxx\"}"))));
    assertInvalid("not JSON", () -> json.check(framed(4, bytesOf("{\"a\": "))));
    ConfluentCodec avro = codec("avro", null);
    avro.check(framed(5, 2, 'x'));
    assertInvalid(
        "not of this Avro schema: it ends too early", () -> avro.check(framed(5, 4, 'x')));
    Object decoded = avro.decode(framed(5, 2, 'x'));
    assertUndecidable(reason, () -> avro.toCel(decoded));
    assertUndecidable(reason, () -> ((ConfluentCodec.DecodedValue) decoded).single());
  }

  @Test
  void namesDeletedVersionsOfTheSubject() {
    register(5, null, "\"int\"", "other-value");
    answers.put(
        "/schemas/ids/5/versions?deleted=true",
        "[{\"subject\": \"other-value\"}, {\"subject\": \"orders-value\"}]");
    register(6, null, "\"int\"", "orders-value");
    answers.put("/schemas/ids/6/versions?deleted=true", answers.get("/schemas/ids/6/versions"));
    answers.remove("/schemas/ids/6/versions");
    register(7, null, "\"int\"", "other-value");
    answers.put("/schemas/ids/7/versions?deleted=true", answers.get("/schemas/ids/7/versions"));
    ConfluentCodec codec = codec("avro", null);
    for (int id : List.of(5, 6)) {
      assertInvalid(
          "schema id of a deleted version of orders-value", () -> codec.check(framed(id, 0)));
    }
    assertInvalid(
        "schema id of another subject than orders-value", () -> codec.check(framed(7, 0)));
    int before = requests.size();
    assertInvalid(
        "schema id of a deleted version of orders-value", () -> codec.check(framed(5, 0)));
    assertEquals(before, requests.size());
  }

  @Test
  void aSchemaThatCannotBeUsedIsUndecidable() {
    register(4, null, "\"Nothing\"", "orders-value");
    ConfluentCodec codec = codec("avro", null);
    String reason =
        "the registry's schema cannot be used: AvroTypeException: "
            + "Undefined schema: the schema is the name of a type that nothing defines";
    assertUndecidable(reason, () -> codec.check(framed(4, 0)));
  }

  @Test
  void errorsOfTheRegistryAreUndecidable() {
    register(4, null, "\"int\"", "orders-value");
    answers.put("/schemas/ids/4", "");
    answers.put("/schemas/ids/5", "<html>");
    ConfluentCodec codec = codec("avro", null);
    assertUndecidable("the Schema Registry answered 500", () -> codec.check(framed(4, 0)));
    assertUndecidable("the Schema Registry's answer is not JSON", () -> codec.check(framed(5, 0)));
  }

  @Test
  void aNotFoundOfAnotherServerIsUndecidable() {
    status = 404;
    for (String answer : List.of("<html>", "{}", "{\"error_code\": 404}", "[]")) {
      answers.put("/schemas/ids/4", answer);
      ConfluentCodec codec = codec("avro", null);
      assertUndecidable("the Schema Registry answered 404", () -> codec.check(framed(4, 0)));
    }
    status = 302;
    ConfluentCodec codec = codec("avro", null);
    assertUndecidable("the Schema Registry answered 302", () -> codec.check(framed(4, 0)));
  }

  @Test
  void anAnswerInAnotherFormIsUndecidable() {
    String schema = "{\"schema\": \"\\\"int\\\"\"}";
    String many = "{\"schema\": \"x\", \"references\": ";
    for (String answer :
        List.of("{}", "[]", "1", "null", "{\"schema\": 1}", many + "1}", many + "[{}]}")) {
      register(4, null, "\"int\"", "orders-value");
      answers.put("/schemas/ids/4", answer);
      ConfluentCodec codec = codec("avro", null);
      assertUndecidable(
          "the Schema Registry's answer has an unknown form", () -> codec.check(framed(4, 0)));
    }
    for (String versions : List.of("{}", "[{}]", "[1]", "null")) {
      answers.put("/schemas/ids/4", schema);
      answers.put("/schemas/ids/4/versions", versions);
      ConfluentCodec codec = codec("avro", null);
      assertUndecidable(
          "the Schema Registry's answer has an unknown form", () -> codec.check(framed(4, 0)));
    }
  }

  @Test
  void referencesInACycleAreUndecidable() {
    register(4, null, "\"int\"", "orders-value");
    String cycle =
        """
        {"schema": "1", "references": [{"name": "%s", "subject": "%s", "version": 1}]}
        """;
    answers.put("/schemas/ids/4", cycle.formatted("a", "a"));
    answers.put("/subjects/a/versions/1", cycle.formatted("b", "b"));
    answers.put("/subjects/b/versions/1", cycle.formatted("a", "a"));
    ConfluentCodec codec = codec("avro", null);
    assertUndecidable(
        "the references of the registry's schemas form a cycle", () -> codec.check(framed(4, 0)));
    assertEquals(4, requests.size());
  }

  @Test
  void anAnswerThatIsTooLargeIsUndecidable() {
    register(4, null, "\"" + "x".repeat(4 * 1024 * 1024) + "\"", "orders-value");
    ConfluentCodec codec = codec("avro", null);
    assertUndecidable(
        "the Schema Registry's answer is larger than 4194304 bytes",
        () -> codec.check(framed(4, 0)));
  }

  @Test
  void noRequestIsSentAfterAConnectionError() {
    ConfluentCodec codec = codec("avro", null);
    server.stop(0);
    String reason = "the Schema Registry cannot be reached: ConnectException";
    assertUndecidable(reason, () -> codec.check(framed(4, 0)));
    assertUndecidable(reason, () -> codec.check(framed(5, 0)));
  }

  @Test
  void authenticatesIfThereIsAUserName() throws RecordFault {
    register(4, null, "\"int\"", "orders-value");
    client(true).schema(4, List.of("orders-value"));
    assertEquals("/schemas/ids/4 Basic dXNlcjpwdw==", requests.get(0));
    client(false).schema(4, List.of("orders-value"));
    assertEquals("/schemas/ids/4 null", requests.get(2));
  }
}
