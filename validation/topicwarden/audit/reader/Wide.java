package topicwarden;

/** Numbers as CEL knows them: every whole number a long, every other a double. */
final class Wide {
  private Wide() {}

  static Object of(Object value) {
    if (value instanceof Integer || value instanceof Short || value instanceof Byte) {
      return ((Number) value).longValue();
    }
    return value instanceof Float number ? (Object) number.doubleValue() : value;
  }
}
