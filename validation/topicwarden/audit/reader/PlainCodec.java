package topicwarden;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.UUID;

/** The formats that need no schema, as Kafka's own serializers write them. */
final class PlainCodec {
  private PlainCodec() {}

  static Codec of(String format) {
    return switch (format) {
      case "bytes" -> data -> data;
      case "string" -> new Strings();
      case "int" -> data -> (long) sized(data, Integer.BYTES).getInt();
      case "long" -> data -> sized(data, Long.BYTES).getLong();
      case "uuid" -> PlainCodec::uuid;
      default -> throw new IllegalArgumentException("no format " + format);
    };
  }

  private static final class Strings implements Codec {
    @Override
    public Object read(byte[] data) throws Malformed {
      check(data);
      return new String(data, StandardCharsets.UTF_8);
    }

    @Override
    public void check(byte[] data) throws Malformed {
      if (!Utf8.valid(data, 0)) {
        throw Malformed.because("not UTF-8", shape(data));
      }
    }
  }

  /** What {@code UUIDDeserializer} reads: also shorter groups of digits, as {@link UUID#fromString} does. */
  private static String uuid(byte[] data) throws Malformed {
    try {
      return UUID.fromString(new String(data, StandardCharsets.UTF_8)).toString();
    } catch (IllegalArgumentException error) {
      throw Malformed.because("not the text of a UUID", shape(data));
    }
  }

  private static ByteBuffer sized(byte[] data, int size) throws Malformed {
    if (data.length != size) {
      throw Malformed.because("not " + size + " bytes", shape(data));
    }
    return ByteBuffer.wrap(data);
  }

  /** What may be said of bytes that were not understood. */
  static String shape(byte[] data) {
    String text = Utf8.valid(data, 0) ? " of UTF-8 text" : ", not UTF-8";
    return data.length + (data.length == 1 ? " byte" : " bytes") + text;
  }
}
