package io.topicwarden.reader.codecs;

/** CEL's number types: every integer is a long, every other number a double. */
final class CelNumbers {
  private CelNumbers() {}

  /** Widens numbers; returns every other value unchanged. */
  static Object widen(Object value) {
    if (value instanceof Integer || value instanceof Short || value instanceof Byte) {
      return ((Number) value).longValue();
    }
    return value instanceof Float number ? (Object) number.doubleValue() : value;
  }
}
