package io.topicwarden.reader.fields;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import io.topicwarden.reader.fields.FieldPath.Found;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import org.apache.avro.LogicalType;
import org.apache.avro.LogicalTypes;
import org.apache.avro.generic.GenericEnumSymbol;
import org.apache.avro.generic.GenericFixed;

/**
 * Single values as bytes. Equal values have equal bytes, in every format: the numbers 1 and 1.0 are
 * equal, without rounding. Values of one kind have the order of their bytes (unsigned): numbers by
 * size, text by code points. The first byte is the kind; values of different kinds have no order.
 */
final class CanonicalValue {
  /** The logical type of a union in which several branches could have one. */
  static final LogicalType AMBIGUOUS = new LogicalType("ambiguous");

  private static final byte BOOLEAN = 1;
  private static final byte NUMBER = 2;
  static final byte TEXT = 3;
  private static final byte BYTES = 4;
  private static final byte TIME = 5;
  private static final byte NEGATIVE = 1;
  private static final byte ZERO = 2;
  private static final byte POSITIVE = 3;

  private CanonicalValue() {}

  /** Returns the bytes of a value; throws if there is none, or if it is not a single value. */
  static byte[] of(Found found) throws Unjudged {
    Object value = found.value() instanceof JsonNode node ? scalar(node) : found.value();
    if (value == null) {
      throw new Unjudged("missing or null");
    }
    LogicalType type = found.logicalType();
    return type == null ? ofSingle(value) : ofLogicalType(value, type);
  }

  private static byte[] ofSingle(Object value) throws Unjudged {
    if (value instanceof Boolean flag) {
      return new byte[] {BOOLEAN, (byte) (flag ? 1 : 0)};
    }
    if (value instanceof Long || value instanceof Integer) {
      return integer(((Number) value).longValue());
    }
    if (value instanceof Number number) {
      return number(decimal(number));
    }
    if (value instanceof CharSequence || value instanceof GenericEnumSymbol<?>) {
      return text(value.toString());
    }
    if (value instanceof EnumValueDescriptor symbol) {
      return number(BigDecimal.valueOf(symbol.getNumber()));
    }
    if (value instanceof byte[] bytes) {
      return tagged(BYTES, bytes);
    }
    if (value instanceof ByteString bytes) {
      return tagged(BYTES, bytes.toByteArray());
    }
    if (value instanceof ByteBuffer || value instanceof GenericFixed) {
      return tagged(BYTES, avroBytes(value));
    }
    throw new Unjudged("not a single value");
  }

  /** Returns the bytes of a value that is not in a field, such as a key. */
  static byte[] of(Object value) throws Unjudged {
    return of(new Found(value, null));
  }

  static Object scalar(JsonNode node) throws Unjudged {
    if (node.isContainerNode()) {
      throw new Unjudged("not a single value");
    }
    if (node.isNumber()) {
      return node.isIntegralNumber() && node.canConvertToLong()
          ? (Object) node.longValue()
          : node.decimalValue();
    }
    return node.isNull()
        ? null
        : node.isTextual() ? node.textValue() : (Object) node.booleanValue();
  }

  /**
   * Times count in the unit of their logical type, which may change from one schema to the next.
   */
  private static byte[] ofLogicalType(Object value, LogicalType type) throws Unjudged {
    if (type == AMBIGUOUS) {
      throw new Unjudged("of a union with several types");
    }
    if (type instanceof LogicalTypes.Decimal decimal) {
      byte[] unscaled = avroBytes(value);
      if (unscaled.length == 0) { // the bytes are Avro, the number is none
        throw new Unjudged("a decimal without digits");
      }
      return number(new BigDecimal(new BigInteger(unscaled), decimal.getScale()));
    }
    String name = type.getName();
    boolean encoded = value instanceof ByteBuffer || value instanceof GenericFixed;
    if (encoded && !name.equals("uuid")) { // such as duration: its bytes are not in its order
      throw new Unjudged("of the logical type " + name);
    }
    int scale =
        name.endsWith("-millis")
            ? 3
            : name.endsWith("-micros") ? 6 : name.endsWith("-nanos") ? 9 : 0;
    if (scale == 0 || !(value instanceof Number ticks)) {
      return ofSingle(value);
    }
    byte[] seconds = number(BigDecimal.valueOf(ticks.longValue(), scale));
    seconds[0] = TIME;
    return seconds;
  }

  private static byte[] avroBytes(Object value) throws Unjudged {
    if (value instanceof GenericFixed fixed) {
      return fixed.bytes();
    }
    if (value instanceof ByteBuffer buffer) {
      byte[] copy = new byte[buffer.remaining()];
      buffer.duplicate().get(copy);
      return copy;
    }
    throw new Unjudged("not a single value");
  }

  static BigDecimal decimal(Number number) throws Unjudged {
    if (number instanceof BigDecimal decimal) {
      return decimal;
    }
    if (number instanceof BigInteger integer) {
      return new BigDecimal(integer);
    }
    if (number instanceof Double || number instanceof Float) {
      if (!Double.isFinite(number.doubleValue())) {
        throw new Unjudged("not a finite number");
      }
      return new BigDecimal(number.doubleValue());
    }
    return BigDecimal.valueOf(number.longValue());
  }

  /** The same as {@link #number}, without the objects that it needs: most numbers are integers. */
  private static byte[] integer(long value) {
    if (value == 0 || value == Long.MIN_VALUE) {
      return number(BigDecimal.valueOf(value));
    }
    int digits = 0;
    int zeros = 0;
    long stripped = Math.abs(value);
    while (stripped % 10 == 0) {
      stripped /= 10;
      zeros++;
    }
    for (long rest = stripped; rest > 0; rest /= 10) {
      digits++;
    }
    boolean negative = value < 0;
    byte inverted = (byte) (negative ? 0xFF : 0);
    byte[] bytes = new byte[6 + digits + (negative ? 1 : 0)];
    bytes[0] = NUMBER;
    bytes[1] = negative ? NEGATIVE : POSITIVE;
    bytes[2] = (byte) (inverted ^ 0x80);
    bytes[3] = inverted;
    bytes[4] = inverted;
    bytes[5] = (byte) (inverted ^ (digits + zeros));
    for (int at = 5 + digits; at > 5; at--) {
      bytes[at] = (byte) (inverted ^ ('0' + stripped % 10));
      stripped /= 10;
    }
    if (negative) {
      bytes[bytes.length - 1] = (byte) 0xFF;
    }
    return bytes;
  }

  /** The sign, the exponent and the digits; all but the sign are inverted for negative numbers. */
  private static byte[] number(BigDecimal number) {
    if (number.signum() == 0) {
      return new byte[] {NUMBER, ZERO};
    }
    BigDecimal stripped = number.abs().stripTrailingZeros();
    byte[] digits = stripped.unscaledValue().toString().getBytes(StandardCharsets.US_ASCII);
    int exponent = digits.length - stripped.scale();
    boolean negative = number.signum() < 0;
    ByteBuffer buffer = ByteBuffer.allocate(6 + digits.length + (negative ? 1 : 0));
    buffer.put(NUMBER).put(negative ? NEGATIVE : POSITIVE);
    buffer.putInt(exponent ^ Integer.MIN_VALUE).put(digits); // unsigned order of the exponent
    if (negative) {
      for (int i = 2; i < buffer.position(); i++) {
        buffer.put(i, (byte) ~buffer.get(i));
      }
      buffer.put((byte) 0xFF); // more digits are a smaller number
    }
    return buffer.array();
  }

  static byte[] text(String text) throws Unjudged {
    byte[] tagged = new byte[text.length() + 1];
    tagged[0] = TEXT;
    for (int i = 0; i < text.length(); i++) {
      char character = text.charAt(i);
      if (character > 0x7F) {
        return unicode(text);
      }
      tagged[i + 1] = (byte) character;
    }
    return tagged;
  }

  private static byte[] unicode(String text) throws Unjudged {
    try {
      ByteBuffer utf8 = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
      byte[] bytes = new byte[utf8.remaining()];
      utf8.get(bytes);
      return tagged(TEXT, bytes);
    } catch (CharacterCodingException error) { // half of a surrogate pair
      throw new Unjudged("not Unicode text");
    }
  }

  private static byte[] tagged(byte kind, byte[] bytes) {
    byte[] tagged = new byte[bytes.length + 1];
    tagged[0] = kind;
    System.arraycopy(bytes, 0, tagged, 1, bytes.length);
    return tagged;
  }
}
