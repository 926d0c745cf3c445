package io.topicwarden.reader.codecs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.function.Executable;

/** Assertions about faults. */
final class Faults {
  private Faults() {}

  static void assertInvalid(String reason, Executable decode) {
    RecordFault fault = assertThrows(RecordFault.class, decode);
    assertEquals(reason, fault.getMessage());
    assertEquals(false, fault.undecidable, "undecidable");
  }

  static void assertUndecidable(String reason, Executable decode) {
    RecordFault fault = assertThrows(RecordFault.class, decode);
    assertEquals(reason, fault.getMessage());
    assertEquals(true, fault.undecidable, "undecidable");
  }

  static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }

  static byte[] bytes(int... values) {
    byte[] bytes = new byte[values.length];
    for (int i = 0; i < values.length; i++) {
      bytes[i] = (byte) values[i];
    }
    return bytes;
  }
}
