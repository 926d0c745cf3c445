package topicwarden;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** JSON values by which JSON Schema compares: {@code 1} equals {@code 1.0} at every depth, and no digit is lost. */
final class ExactJson {
  private static final Object NULL = new Object();

  private ExactJson() {}

  /** Returns an object that equals that of another value if, and only if, the two values are equal. */
  static Object of(JsonNode node) {
    if (node.isNumber()) {
      return node.decimalValue().stripTrailingZeros();
    }
    if (node.isArray()) {
      List<Object> items = new ArrayList<>(node.size());
      node.forEach(item -> items.add(of(item)));
      return items;
    }
    if (node.isObject()) {
      Map<String, Object> fields = new HashMap<>();
      node.properties().forEach(field -> fields.put(field.getKey(), of(field.getValue())));
      return fields;
    }
    return node.isNull() ? NULL : node.isTextual() ? node.textValue() : (Object) node.booleanValue();
  }
}
