package io.topicwarden.reader.fields;

import com.fasterxml.jackson.databind.JsonNode;
import io.topicwarden.reader.fields.FieldPath.Found;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.UUID;

/**
 * A key, and a field that refers to one, as the same bytes, although their formats may differ. An
 * integer is its decimal text. Text is a number or a UUID if the keys are declared so.
 */
final class KeyReference {
  private static final int MOST_DIGITS = 40; // keys are at most 64-bit integers

  private KeyReference() {}

  /**
   * Returns the bytes of a key or of a reference; throws if there is no value, or if no key can
   * have it.
   *
   * @param keys the declared format of the keys, or null if they are not read
   */
  static byte[] of(Found found, String keys) throws Unjudged {
    Object value =
        found.value() instanceof JsonNode node ? CanonicalValue.scalar(node) : found.value();
    if (found.logicalType() == null && value instanceof Number number) {
      BigDecimal decimal = CanonicalValue.decimal(number);
      if (isShortInteger(decimal)) {
        return CanonicalValue.text(decimal.toBigIntegerExact().toString());
      }
    }
    if (value instanceof CharSequence text) {
      return CanonicalValue.text(converted(text.toString(), keys));
    }
    byte[] bytes = CanonicalValue.of(found);
    if (bytes[0] != CanonicalValue.TEXT) {
      throw new Unjudged("of another type than the keys");
    }
    return bytes;
  }

  private static boolean isShortInteger(BigDecimal decimal) {
    BigDecimal stripped = decimal.stripTrailingZeros();
    return stripped.scale() <= 0 && (long) stripped.precision() - stripped.scale() <= MOST_DIGITS;
  }

  private static String converted(String text, String keys) {
    boolean isInteger = "int".equals(keys) || "long".equals(keys);
    if (isInteger && text.length() <= MOST_DIGITS && text.matches("[+-]?[0-9]+")) {
      return new BigInteger(text).toString();
    }
    if ("uuid".equals(keys)) {
      try {
        return UUID.fromString(text).toString();
      } catch (IllegalArgumentException error) {
        return text; // which no key is
      }
    }
    return text;
  }
}
