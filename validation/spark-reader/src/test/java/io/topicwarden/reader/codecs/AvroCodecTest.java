package io.topicwarden.reader.codecs;

import static io.topicwarden.reader.codecs.Faults.assertInvalid;
import static io.topicwarden.reader.codecs.Faults.assertUndecidable;
import static io.topicwarden.reader.codecs.Faults.bytes;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecordBuilder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.junit.jupiter.api.Test;

/** The Avro codec and its bounds. */
class AvroCodecTest {
  private static final Schema ORDER =
      AvroCodec.parse(
          """
          {"type": "record", "name": "Order", "fields": [
            {"name": "id", "type": "int"},
            {"name": "total", "type": "float"},
            {"name": "note", "type": ["null", "string"]},
            {"name": "tags", "type": {"type": "map", "values": "bytes"}},
            {"name": "lines", "type": {"type": "array", "items": "long"}},
            {"name": "state", "type": {"type": "enum", "name": "S", "symbols": ["A", "B"]}},
            {"name": "hash", "type": {"type": "fixed", "name": "F", "size": 2}},
            {"name": "paid", "type": "boolean"},
            {"name": "rate", "type": "double"}]}
          """,
          List.of());

  private static byte[] encoded() throws IOException {
    Object order =
        new GenericRecordBuilder(ORDER)
            .set("id", 7)
            .set("total", 1.5f)
            .set("note", "café")
            .set("tags", Map.of("a", ByteBuffer.wrap(bytes(1, 2))))
            .set("lines", List.of(3L, -4L))
            .set("state", new GenericData.EnumSymbol(ORDER.getField("state").schema(), "B"))
            .set("hash", new GenericData.Fixed(ORDER.getField("hash").schema(), bytes(8, 9)))
            .set("paid", true)
            .set("rate", 0.25)
            .build();
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    BinaryEncoder encoder = EncoderFactory.get().binaryEncoder(out, null);
    new GenericDatumWriter<>(ORDER).write(order, encoder);
    encoder.flush();
    return out.toByteArray();
  }

  @Test
  void convertsEveryTypeForCel() throws Exception {
    AvroCodec codec = new AvroCodec(ORDER, ORDER);
    codec.check(encoded());
    Map<?, ?> order = (Map<?, ?>) codec.toCel(codec.decode(encoded()));
    assertEquals(7L, order.get("id"));
    assertEquals(1.5, order.get("total"));
    assertEquals("café", order.get("note"));
    assertArrayEquals(bytes(1, 2), (byte[]) ((Map<?, ?>) order.get("tags")).get("a"));
    assertEquals(List.of(3L, -4L), order.get("lines"));
    assertEquals("B", order.get("state"));
    assertArrayEquals(bytes(8, 9), (byte[]) order.get("hash"));
    assertEquals(true, order.get("paid"));
    assertEquals(0.25, order.get("rate"));
  }

  @Test
  void everyTruncationIsInvalid() throws Exception {
    AvroCodec codec = new AvroCodec(ORDER, ORDER);
    byte[] whole = encoded();
    for (int length = 0; length < whole.length; length++) {
      byte[] part = Arrays.copyOf(whole, length);
      assertInvalid("not of this Avro schema: it ends too early", () -> codec.check(part));
      assertThrows(RecordFault.class, () -> codec.decode(part));
    }
    byte[] more = Arrays.copyOf(whole, whole.length + 1);
    assertInvalid("not of this Avro schema: bytes are left over", () -> codec.check(more));
  }

  @Test
  void resolvesTheReaderSchema() throws Exception {
    Schema reader =
        AvroCodec.parse(
            """
            {"type": "record", "name": "Order", "fields": [
              {"name": "id", "type": "long"}, {"name": "new", "type": "int", "default": 3}]}
            """,
            List.of());
    AvroCodec codec = new AvroCodec(ORDER, reader);
    codec.check(encoded());
    assertEquals(Map.of("id", 7L, "new", 3L), codec.toCel(codec.decode(encoded())));
  }

  private static void assertBounded(String reason, String schema, int... data) {
    Schema parsed = AvroCodec.parse(schema, List.of());
    assertInvalid(
        "not of this Avro schema: " + reason, () -> AvroBounds.check(bytes(data), 0, parsed));
  }

  @Test
  void refusesWhatNoWriterWrites() {
    String cannotBe = "an invalid length";
    assertBounded(cannotBe, "\"bytes\"", 1); // -1
    assertBounded("it ends too early", "\"bytes\"", 8, 1);
    assertBounded("a string that is not UTF-8", "\"string\"", 2, 0xff);
    assertBounded("an int beyond 32 bits", "\"int\"", 0xff, 0xff, 0xff, 0xff, 0x7f);
    assertBounded(
        "a number beyond 64 bits",
        "\"long\"",
        0xff,
        0xff,
        0xff,
        0xff,
        0xff,
        0xff,
        0xff,
        0xff,
        0xff,
        2);
    assertBounded(
        "an enum symbol that its schema does not have",
        "{\"type\": \"enum\", \"name\": \"E\", \"symbols\": [\"A\"]}",
        2);
    assertBounded("a union branch that its schema does not have", "[\"null\", \"int\"]", 4);
    assertBounded(
        cannotBe,
        "{\"type\": \"array\", \"items\": \"int\"}",
        0xff,
        0xff,
        0xff,
        0xff,
        0xff,
        0xff,
        0xff,
        0xff,
        0xff,
        1,
        0); // a count of -2^63
  }

  @Test
  void acceptsBlocksWithTheirSize() throws Exception {
    Schema ints = AvroCodec.parse("{\"type\": \"array\", \"items\": \"int\"}", List.of());
    byte[] data = bytes(3, 4, 2, 4, 2, 6, 0); // two items in two bytes, one item, the end
    AvroBounds.check(data, 0, ints);
    AvroCodec codec = new AvroCodec(ints, ints);
    assertEquals(List.of(1L, 2L, 3L), codec.toCel(codec.decode(data)));
  }

  @Test
  void whatTakesTooMuchMemoryIsUndecidable() throws Exception {
    Schema nulls = AvroCodec.parse("{\"type\": \"array\", \"items\": \"null\"}", List.of());
    byte[] many = bytes(0xfe, 0xff, 0xff, 0xff, 0x0f, 0);
    assertUndecidable(
        "Avro beyond the limits of the audit: more than 1000000 empty items",
        () -> AvroBounds.check(many, 0, nulls));
    Schema list =
        AvroCodec.parse(
            """
            {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
            """,
            List.of());
    byte[] deep = new byte[AvroBounds.MAX_DEPTH + 1];
    Arrays.fill(deep, (byte) 2);
    Callable<Void> check =
        () -> {
          AvroBounds.check(deep, 0, list);
          return null;
        };
    FutureTask<Void> task = new FutureTask<>(check);
    new Thread(null, task, "little stack", 64 << 10).start();
    Throwable thrown = assertThrows(ExecutionException.class, task::get).getCause();
    assertUndecidable(
        "Avro beyond the limits of the audit: more than 500 nested values",
        () -> {
          throw thrown;
        });
  }

  @Test
  void parsesReferences() {
    String address = "{\"type\": \"record\", \"name\": \"Address\", \"fields\": []}";
    String person =
        """
        {"type": "record", "name": "P", "fields": [{"name": "home", "type": "Address"}]}
        """;
    assertEquals("P", AvroCodec.parse(person, List.of(address)).getName());
    assertThrows(AvroRuntimeException.class, () -> AvroCodec.parse(person, List.of()));
    assertThrows(AvroRuntimeException.class, () -> AvroCodec.parse("\"Nothing\"", List.of()));
  }
}
