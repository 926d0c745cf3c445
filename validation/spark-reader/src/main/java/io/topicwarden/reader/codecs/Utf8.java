package io.topicwarden.reader.codecs;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;

/** UTF-8 without overlong forms, surrogates or code points beyond U+10FFFF (RFC 3629). */
public final class Utf8 {
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.nativeOrder());
  private static final long NON_ASCII_BITS = 0x8080808080808080L;

  private Utf8() {}

  /** Returns whether the bytes from {@code from} to the end are UTF-8. */
  public static boolean isValid(byte[] data, int from) {
    return isValid(data, from, data.length - from);
  }

  /** Returns whether {@code length} bytes from {@code from} are UTF-8. */
  static boolean isValid(byte[] data, int from, int length) {
    if (isAscii(data, from, from + length)) { // most text is, and this is cheaper than the decoder
      return true;
    }
    try {
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data, from, length));
      return true;
    } catch (CharacterCodingException error) {
      return false;
    }
  }

  private static boolean isAscii(byte[] data, int from, int end) {
    long bits = 0;
    int at = from;
    for (; at + Long.BYTES <= end; at += Long.BYTES) {
      bits |= (long) LONGS.get(data, at);
    }
    for (; at < end; at++) {
      bits |= data[at];
    }
    return (bits & NON_ASCII_BITS) == 0;
  }
}
