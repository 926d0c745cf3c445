package io.topicwarden.reader.fields;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Message;
import java.math.BigInteger;
import java.util.List;
import java.util.Map;
import org.apache.avro.LogicalType;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericContainer;
import org.apache.avro.generic.GenericRecord;

/** The steps from a decoded value to one of its fields. A number is also an index of an array. */
public final class FieldPath {
  /**
   * A value that was found.
   *
   * @param schema its Avro schema, or null
   */
  record Found(Object value, Schema schema) {
    static final Found NOTHING = new Found(null, null);

    /** Returns the logical type, that of the only branch of a union that has one, or null. */
    LogicalType logicalType() {
      return schema == null ? null : FieldPath.logicalType(schema);
    }
  }

  private final List<String> steps;

  public FieldPath(List<String> steps) {
    this.steps = List.copyOf(steps);
  }

  /** Returns the value at the path, with a null value if there is none. */
  Found find(Object root) {
    Found found = new Found(root, null);
    for (String step : steps) {
      found = child(found, step);
    }
    return found;
  }

  private static Found child(Found found, String step) {
    Object parent = found.value();
    if (parent instanceof JsonNode node) {
      return new Found(node.isArray() ? element(node, step) : node.get(step), null);
    }
    if (parent instanceof GenericRecord record) {
      Schema.Field field = record.getSchema().getField(step);
      return field == null ? Found.NOTHING : new Found(record.get(field.pos()), field.schema());
    }
    if (parent instanceof Message message) {
      FieldDescriptor field = message.getDescriptorForType().findFieldByName(step);
      boolean present = field != null && (field.isRepeated() || message.hasField(field));
      return present ? new Found(protobuf(message, field), null) : Found.NOTHING;
    }
    if (parent instanceof Map<?, ?> map) {
      for (Map.Entry<?, ?> entry : map.entrySet()) { // Avro's names are CharSequences
        if (entry.getKey().toString().equals(step)) {
          Schema schema = branch(found, Schema.Type.MAP);
          return new Found(entry.getValue(), schema == null ? null : schema.getValueType());
        }
      }
    }
    if (parent instanceof List<?> items) {
      int index = index(step);
      Schema schema = branch(found, Schema.Type.ARRAY);
      return index < items.size()
          ? new Found(items.get(index), schema == null ? null : schema.getElementType())
          : Found.NOTHING;
    }
    return Found.NOTHING;
  }

  /** Returns the schema of a map or an array, within a union or not; null if it is not Avro. */
  private static Schema branch(Found found, Schema.Type type) {
    Schema schema =
        found.value() instanceof GenericContainer container
            ? container.getSchema()
            : found.schema();
    if (schema == null || schema.getType() == type) {
      return schema;
    }
    List<Schema> branches = schema.isUnion() ? schema.getTypes() : List.of();
    return branches.stream().filter(each -> each.getType() == type).findFirst().orElse(null);
  }

  private static JsonNode element(JsonNode array, String step) {
    return array.get(index(step));
  }

  /** Returns the array index that a step names, or one that no array has. */
  private static int index(String step) {
    return step.matches("0|[1-9][0-9]{0,8}") ? Integer.parseInt(step) : Integer.MAX_VALUE;
  }

  /** Returns the logical type of a schema, or of the only branch of a union that has one. */
  private static LogicalType logicalType(Schema schema) {
    if (!schema.isUnion()) {
      return schema.getLogicalType();
    }
    List<Schema> branches =
        schema.getTypes().stream().filter(each -> each.getType() != Schema.Type.NULL).toList();
    boolean isPlain = branches.stream().allMatch(each -> each.getLogicalType() == null);
    return isPlain
        ? null
        : branches.size() == 1 ? branches.get(0).getLogicalType() : CanonicalValue.AMBIGUOUS;
  }

  /** Returns the value or the values of a field; unsigned integers in a type that holds them. */
  private static Object protobuf(Message message, FieldDescriptor field) {
    Object value = message.getField(field);
    return value instanceof List<?> values
        ? values.stream().map(each -> unsigned(each, field)).toList()
        : unsigned(value, field);
  }

  private static Object unsigned(Object value, FieldDescriptor field) {
    return switch (field.getType()) {
      case UINT32, FIXED32 -> Integer.toUnsignedLong((Integer) value);
      case UINT64, FIXED64 -> new BigInteger(Long.toUnsignedString((Long) value));
      default -> value;
    };
  }
}
