package topicwarden;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import org.apache.spark.unsafe.Platform;

/** UTF-8 without overlong forms, surrogates or code points beyond U+10FFFF (RFC 3629). */
final class Utf8 {
  private static final long NOT_ASCII = 0x8080808080808080L;

  private Utf8() {}

  /** Returns whether the bytes from {@code from} are UTF-8. */
  static boolean valid(byte[] data, int from) {
    return valid(data, from, data.length - from);
  }

  static boolean valid(byte[] data, int from, int length) {
    if (ascii(data, from, from + length)) {
      return true;
    }
    try {
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data, from, length));
      return true;
    } catch (CharacterCodingException error) {
      return false;
    }
  }

  /** Most text is ASCII, which is UTF-8 without a look at each character. */
  private static boolean ascii(byte[] data, int from, int end) {
    long seen = 0;
    int at = from;
    for (; at + Long.BYTES <= end; at += Long.BYTES) {
      seen |= Platform.getLong(data, Platform.BYTE_ARRAY_OFFSET + at);
    }
    for (; at < end; at++) {
      seen |= data[at];
    }
    return (seen & NOT_ASCII) == 0;
  }
}
