package io.topicwarden.reader.codecs;

import static io.topicwarden.reader.codecs.Faults.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;

class Utf8Test {
  @Test
  void acceptsTextOfEveryLength() {
    for (int length = 0; length < 40; length++) {
      assertTrue(Utf8.isValid(bytes("x".repeat(length)), 0));
      assertTrue(Utf8.isValid(bytes("x".repeat(length) + "ï☃😀"), 0));
    }
  }

  @Test
  void refusesWhatRfc3629Excludes() {
    assertFalse(Utf8.isValid(bytes(0xc0, 0x80), 0)); // overlong
    assertFalse(Utf8.isValid(bytes(0xed, 0xa0, 0x80), 0)); // a surrogate
    assertFalse(Utf8.isValid(bytes(0xf4, 0x90, 0x80, 0x80), 0)); // beyond U+10FFFF
    assertFalse(Utf8.isValid(bytes(0xe2, 0x98), 0)); // incomplete
  }

  @Test
  void looksAtTheGivenBytesOnly() {
    byte[] data = bytes(0xff, 'a', 'b', 0xff);
    assertFalse(Utf8.isValid(data, 1));
    assertTrue(Utf8.isValid(data, 1, 2));
    assertTrue(Utf8.isValid(data, 4));
  }

  @Test
  void agreesWithTheDecoderOnRandomBytes() {
    Random random = new Random(5);
    for (int i = 0; i < 20_000; i++) {
      byte[] data = new byte[random.nextInt(20)];
      random.nextBytes(data);
      if (i % 2 == 0) {
        for (int at = 0; at < data.length; at++) {
          data[at] &= 0x7f;
        }
      }
      boolean valid = true;
      try {
        StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data));
      } catch (CharacterCodingException error) {
        valid = false;
      }
      assertEquals(valid, Utf8.isValid(data, 0));
    }
  }
}
