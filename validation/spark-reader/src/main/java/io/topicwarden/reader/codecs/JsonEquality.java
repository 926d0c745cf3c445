package io.topicwarden.reader.codecs;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** JSON Schema's equality: {@code 1} equals {@code 1.0} at every depth, without rounding. */
final class JsonEquality {
  private static final Object NULL = new Object();

  private JsonEquality() {}

  /** Returns an object whose {@code equals} is JSON Schema's equality of the two values. */
  static Object comparable(JsonNode node) {
    if (node.isNumber()) {
      return node.decimalValue().stripTrailingZeros();
    }
    if (node.isArray()) {
      List<Object> items = new ArrayList<>(node.size());
      node.forEach(item -> items.add(comparable(item)));
      return items;
    }
    if (node.isObject()) {
      Map<String, Object> fields = new HashMap<>();
      node.properties().forEach(field -> fields.put(field.getKey(), comparable(field.getValue())));
      return fields;
    }
    return node.isNull()
        ? NULL
        : node.isTextual() ? node.textValue() : (Object) node.booleanValue();
  }
}
