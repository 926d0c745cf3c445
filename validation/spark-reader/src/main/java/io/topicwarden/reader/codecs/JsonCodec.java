package io.topicwarden.reader.codecs;

import com.fasterxml.jackson.databind.JsonNode;
import com.networknt.schema.SpecificationVersion;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** JSON, with a JSON Schema if one is declared. */
final class JsonCodec implements Codec {
  private final JsonSchemaValidator validator;
  private final LastJson last; // null if no other codec parses the same data

  private JsonCodec(JsonSchemaValidator validator, LastJson last) {
    this.validator = validator;
    this.last = last;
  }

  /**
   * Returns a codec that validates by a schema of a Schema Registry. Without {@code $schema} it is
   * of draft 7, as for the registries and serializers of Confluent and Apicurio ({@code
   * JsonSchema.rawSchema}).
   *
   * @param references the texts of the schemas that it refers to, by URI
   */
  static JsonCodec registered(String schema, Map<String, String> references) {
    return new JsonCodec(
        new JsonSchemaValidator(schema, references, SpecificationVersion.DRAFT_7), null);
  }

  /**
   * Returns a codec that validates by a file, of draft 2020-12 if it names none.
   *
   * @param schema the text of the file, or null to accept any JSON
   * @param references the texts of the schemas that it refers to, by URI
   * @param last may have parsed the same data; or null
   */
  static JsonCodec declared(String schema, Map<String, String> references, LastJson last) {
    return new JsonCodec(
        schema == null
            ? null
            : new JsonSchemaValidator(schema, references, SpecificationVersion.DRAFT_2020_12),
        last);
  }

  @Override
  public JsonNode decode(byte[] data) throws RecordFault {
    return decode(data, 0);
  }

  JsonNode decode(byte[] data, int from) throws RecordFault {
    JsonNode node = last == null ? JsonText.parse(data, from) : last.parse(data, from);
    if (validator != null) {
      validator.validate(node);
    }
    return node;
  }

  @Override
  public void check(byte[] data) throws RecordFault {
    check(data, 0);
  }

  void check(byte[] data, int from) throws RecordFault {
    if (validator == null && last == null) {
      JsonText.check(data, from);
      return;
    }
    try {
      decode(data, from);
    } catch (RecordFault fault) {
      if (validator != null || !fault.undecidable) {
        throw fault;
      }
      // JSON beyond the limits of a tree is JSON.
    }
  }

  @Override
  public Object toCel(Object decoded) throws RecordFault {
    JsonNode node = (JsonNode) decoded;
    if (node.isObject()) {
      Map<String, Object> fields = new LinkedHashMap<>();
      for (Map.Entry<String, JsonNode> field : node.properties()) {
        fields.put(field.getKey(), toCel(field.getValue()));
      }
      return fields;
    }
    if (node.isArray()) {
      List<Object> items = new ArrayList<>(node.size());
      for (JsonNode item : node) {
        items.add(toCel(item));
      }
      return items;
    }
    if (node.isNumber()) {
      return node.canConvertToLong() && node.isIntegralNumber()
          ? (Object) node.longValue()
          : toDouble(node);
    }
    return node.isNull()
        ? null
        : node.isTextual() ? node.textValue() : (Object) node.booleanValue();
  }

  /** Refuses numbers such as 1e-400 and 2^64 + 1, which a double would turn into another number. */
  private static double toDouble(JsonNode node) throws RecordFault {
    BigDecimal exact = node.decimalValue();
    double rounded = exact.doubleValue();
    boolean lost = Double.isInfinite(rounded) || (rounded == 0 && exact.signum() != 0);
    if (lost
        || (node.isBigInteger()
            && !new BigDecimal(rounded).toBigInteger().equals(node.bigIntegerValue()))) {
      throw RecordFault.undecidable("a number that CEL cannot hold");
    }
    return rounded;
  }
}
