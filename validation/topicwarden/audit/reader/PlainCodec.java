package topicwarden;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.regex.Pattern;

/** The formats that need no schema, as Kafka's own serializers write them. */
final class PlainCodec {
  private static final Pattern UUID_TEXT =
      Pattern.compile("[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}");

  private static final char REPLACEMENT = '\uFFFD';

  private PlainCodec() {}

  static Codec of(String format) {
    return switch (format) {
      case "bytes" -> data -> data;
      case "string" -> strings();
      case "int" -> data -> (long) sized(data, Integer.BYTES).getInt();
      case "long" -> data -> sized(data, Long.BYTES).getLong();
      case "uuid" -> uuids();
      default -> throw new IllegalArgumentException("no format " + format);
    };
  }

  private static Codec strings() {
    CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder(); // reports what is malformed
    return data -> {
      String text = new String(data, StandardCharsets.UTF_8); // fast, but puts a sign in the place of what is malformed
      if (text.indexOf(REPLACEMENT) < 0) {
        return text;
      }
      try {
        return decoder.decode(ByteBuffer.wrap(data)).toString();
      } catch (CharacterCodingException error) {
        throw Malformed.because("not UTF-8", shape(data));
      }
    };
  }

  /** As {@code UUIDSerializer} writes them: 36 characters. */
  private static Codec uuids() {
    Codec strings = strings();
    return data -> {
      String text = (String) strings.read(data);
      if (!UUID_TEXT.matcher(text).matches()) {
        throw Malformed.because("not the text of a UUID", shape(data));
      }
      return UUID.fromString(text).toString();
    };
  }

  private static ByteBuffer sized(byte[] data, int size) throws Malformed {
    if (data.length != size) {
      throw Malformed.because("not " + size + " bytes", shape(data));
    }
    return ByteBuffer.wrap(data);
  }

  /** What may be said of bytes that were not understood. */
  static String shape(byte[] data) {
    boolean text = true;
    try {
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(data));
    } catch (CharacterCodingException error) {
      text = false;
    }
    return data.length + (data.length == 1 ? " byte" : " bytes") + (text ? " of UTF-8 text" : ", not UTF-8");
  }
}
