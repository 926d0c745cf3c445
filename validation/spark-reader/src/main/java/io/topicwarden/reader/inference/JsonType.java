package io.topicwarden.reader.inference;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.Locale;

/** The types of JSON Schema. {@code INTEGER} and {@code NUMBER} exclude each other. */
enum JsonType {
  NULL,
  BOOLEAN,
  INTEGER,
  NUMBER,
  STRING,
  ARRAY,
  OBJECT;

  final String keyword = name().toLowerCase(Locale.ROOT);

  static JsonType of(JsonNode value) {
    return switch (value.getNodeType()) {
      case NULL -> NULL;
      case BOOLEAN -> BOOLEAN;
      case NUMBER -> value.isIntegralNumber() ? INTEGER : NUMBER;
      case STRING -> STRING;
      case ARRAY -> ARRAY;
      case OBJECT -> OBJECT;
      default -> throw new IllegalArgumentException("not JSON: " + value.getNodeType());
    };
  }

  static JsonType ofKeyword(String keyword) {
    return valueOf(keyword.toUpperCase(Locale.ROOT));
  }
}
