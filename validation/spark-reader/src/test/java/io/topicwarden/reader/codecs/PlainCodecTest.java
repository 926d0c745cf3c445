package io.topicwarden.reader.codecs;

import static io.topicwarden.reader.codecs.Faults.assertInvalid;
import static io.topicwarden.reader.codecs.Faults.bytes;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.util.UUID;
import org.apache.kafka.common.serialization.IntegerSerializer;
import org.apache.kafka.common.serialization.LongSerializer;
import org.apache.kafka.common.serialization.UUIDSerializer;
import org.junit.jupiter.api.Test;

class PlainCodecTest {
  @Test
  void readsWhatKafkasSerializersWrite() throws Exception {
    UUID uuid = new UUID(5, 7);
    try (IntegerSerializer ints = new IntegerSerializer();
        LongSerializer longs = new LongSerializer();
        UUIDSerializer uuids = new UUIDSerializer()) {
      assertEquals(-5L, PlainCodec.of("int").decode(ints.serialize("t", -5)));
      assertEquals(1L << 40, PlainCodec.of("long").decode(longs.serialize("t", 1L << 40)));
      assertEquals(uuid.toString(), PlainCodec.of("uuid").decode(uuids.serialize("t", uuid)));
    }
    assertEquals("naïve", PlainCodec.of("string").decode(bytes("naïve")));
    assertArrayEquals(bytes(0xff), (byte[]) PlainCodec.of("bytes").decode(bytes(0xff)));
  }

  @Test
  void refusesOtherBytes() {
    assertInvalid("not 4 bytes", () -> PlainCodec.of("int").decode(new byte[5]));
    assertInvalid("not 8 bytes", () -> PlainCodec.of("long").check(new byte[0]));
    assertInvalid("not UTF-8", () -> PlainCodec.of("string").check(bytes(0xc0, 0x80)));
    assertInvalid("not the text of a UUID", () -> PlainCodec.of("uuid").decode(bytes("no")));
    assertThrows(IllegalArgumentException.class, () -> PlainCodec.of("csv"));
  }

  @Test
  void describesBytesWithoutTheirContents() {
    assertEquals("1 byte of UTF-8 text", PlainCodec.describe(bytes("s")));
    assertEquals("2 bytes, not UTF-8", PlainCodec.describe(bytes(0xff, 0xff)));
  }
}
