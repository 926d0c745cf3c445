package topicwarden;

import com.fasterxml.jackson.databind.JsonNode;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON, with a JSON Schema if one is declared. */
final class JsonCodec implements Codec {
  private final JsonSchemaValidator schema;

  private JsonCodec(JsonSchemaValidator schema) {
    this.schema = schema;
  }

  /** {@code text}: a JSON Schema, or null; {@code references}: the texts of schemas that it refers to, by URI. */
  static JsonCodec of(String text, Map<String, String> references) {
    return new JsonCodec(text == null ? null : new JsonSchemaValidator(text, references));
  }

  @Override
  public JsonNode read(byte[] data) throws Malformed {
    return read(data, 0);
  }

  JsonNode read(byte[] data, int from) throws Malformed {
    JsonNode node = JsonText.tree(data, from);
    if (schema != null) {
      schema.require(node);
    }
    return node;
  }

  @Override
  public void check(byte[] data) throws Malformed {
    check(data, 0);
  }

  void check(byte[] data, int from) throws Malformed {
    if (schema == null) {
      JsonText.check(data, from);
    } else {
      read(data, from);
    }
  }

  @Override
  public Object plain(Object read) throws Malformed {
    JsonNode node = (JsonNode) read;
    if (node.isObject()) {
      Map<String, Object> fields = new LinkedHashMap<>();
      for (Map.Entry<String, JsonNode> field : node.properties()) {
        fields.put(field.getKey(), plain(field.getValue()));
      }
      return fields;
    }
    if (node.isArray()) {
      List<Object> items = new ArrayList<>(node.size());
      for (JsonNode item : node) {
        items.add(plain(item));
      }
      return items;
    }
    if (node.isNumber()) {
      return node.canConvertToLong() && node.isIntegralNumber() ? (Object) node.longValue() : real(node);
    }
    return node.isNull() ? null : node.isTextual() ? node.textValue() : (Object) node.booleanValue();
  }

  /** CEL has no number for 1e-400 or 2^64 + 1: neither is 0 or another whole number. */
  private static double real(JsonNode node) throws Malformed {
    BigDecimal exact = node.decimalValue();
    double rounded = exact.doubleValue();
    boolean lost = Double.isInfinite(rounded) || rounded == 0 && exact.signum() != 0;
    if (lost || node.isBigInteger() && !new BigDecimal(rounded).toBigInteger().equals(node.bigIntegerValue())) {
      throw Malformed.unknown("a number that CEL cannot hold");
    }
    return rounded;
  }
}
