package topicwarden;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import java.util.regex.Pattern;
import org.apache.spark.unsafe.Platform;

/** The formats that need no schema, as Kafka's own serializers write them. */
final class PlainCodec {
  private static final Pattern UUID_TEXT =
      Pattern.compile("[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}");
  private static final long NOT_ASCII = 0x8080808080808080L;

  private PlainCodec() {}

  static Codec of(String format) {
    return switch (format) {
      case "bytes" -> data -> data;
      case "string" -> new Strings();
      case "int" -> data -> (long) sized(data, Integer.BYTES).getInt();
      case "long" -> data -> sized(data, Long.BYTES).getLong();
      case "uuid" -> uuids();
      default -> throw new IllegalArgumentException("no format " + format);
    };
  }

  private static final class Strings implements Codec {
    private final CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder(); // reports what is malformed

    @Override
    public Object read(byte[] data) throws Malformed {
      try {
        return decoder.decode(ByteBuffer.wrap(data)).toString();
      } catch (CharacterCodingException error) {
        throw Malformed.because("not UTF-8", shape(data));
      }
    }

    @Override
    public void check(byte[] data) throws Malformed {
      if (!ascii(data)) {
        read(data);
      }
    }

    /** Most text is, and that is UTF-8 without a look at each character. */
    private static boolean ascii(byte[] data) {
      long seen = 0;
      int at = 0;
      for (; at + Long.BYTES <= data.length; at += Long.BYTES) {
        seen |= Platform.getLong(data, Platform.BYTE_ARRAY_OFFSET + at);
      }
      for (; at < data.length; at++) {
        seen |= data[at];
      }
      return (seen & NOT_ASCII) == 0;
    }
  }

  /** As {@code UUIDSerializer} writes them: 36 characters. */
  private static Codec uuids() {
    Codec strings = new Strings();
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
