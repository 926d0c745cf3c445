package io.topicwarden.reader.codecs;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;

/** The formats that need no schema, as Kafka's own serializers write them. */
final class PlainCodec {
  private PlainCodec() {}

  /**
   * Returns the codec of {@code bytes}, {@code string}, {@code int}, {@code long} or {@code uuid}.
   */
  static Codec of(String format) {
    return switch (format) {
      case "bytes" -> data -> data;
      case "string" -> new StringCodec();
      case "int" -> data -> (long) requireLength(data, Integer.BYTES).getInt();
      case "long" -> data -> requireLength(data, Long.BYTES).getLong();
      case "uuid" -> PlainCodec::uuid;
      default -> throw new IllegalArgumentException("no format " + format);
    };
  }

  private static final class StringCodec implements Codec {
    @Override
    public Object decode(byte[] data) throws RecordFault {
      check(data);
      return new String(data, StandardCharsets.UTF_8);
    }

    @Override
    public void check(byte[] data) throws RecordFault {
      if (!Utf8.isValid(data, 0)) {
        throw RecordFault.invalid("not UTF-8", describe(data));
      }
    }
  }

  /** Accepts what Kafka's {@code UUIDDeserializer} accepts, which includes short digit groups. */
  private static String uuid(byte[] data) throws RecordFault {
    try {
      return UUID.fromString(new String(data, StandardCharsets.UTF_8)).toString();
    } catch (IllegalArgumentException error) {
      throw RecordFault.invalid("not the text of a UUID", describe(data));
    }
  }

  private static ByteBuffer requireLength(byte[] data, int length) throws RecordFault {
    if (data.length != length) {
      throw RecordFault.invalid("not " + length + " bytes", describe(data));
    }
    return ByteBuffer.wrap(data);
  }

  /** Describes bytes that could not be decoded: their length, and whether they are text. */
  static String describe(byte[] data) {
    String text = Utf8.isValid(data, 0) ? " of UTF-8 text" : ", not UTF-8";
    return data.length + (data.length == 1 ? " byte" : " bytes") + text;
  }
}
