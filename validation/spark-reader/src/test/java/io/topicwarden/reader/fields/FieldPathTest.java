package io.topicwarden.reader.fields;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.google.protobuf.DescriptorProtos.DescriptorProto;
import com.google.protobuf.DescriptorProtos.FieldDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.DescriptorValidationException;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import java.math.BigInteger;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.junit.jupiter.api.Test;

/** Values in maps, arrays and repeated fields have the type that single ones have. */
class FieldPathTest {
  private static final Schema ORDER =
      new Schema.Parser()
          .parse(
              """
              {"type": "record", "name": "Order", "fields": [
                {"name": "times", "type": {"type": "array",
                  "items": {"type": "long", "logicalType": "timestamp-millis"}}},
                {"name": "by_name", "type": ["null", {"type": "map",
                  "values": ["null", {"type": "long", "logicalType": "timestamp-micros"}]}]},
                {"name": "counts", "type": {"type": "map", "values": "long"}}]}
              """);

  private static String logicalType(Object root, String... steps) {
    var type = new FieldPath(List.of(steps)).find(root).logicalType();
    return type == null ? null : type.getName();
  }

  @Test
  void elementsOfAvroHaveTheirLogicalType() {
    GenericData.Record order = new GenericData.Record(ORDER);
    order.put("times", new GenericData.Array<>(ORDER.getField("times").schema(), List.of(1_000L)));
    order.put("by_name", Map.of("first", 1_000_000L));
    order.put("counts", Map.of("first", 1L));
    assertEquals("timestamp-millis", logicalType(order, "times", "0"));
    assertEquals("timestamp-micros", logicalType(order, "by_name", "first"));
    assertNull(logicalType(order, "counts", "first"));
  }

  @Test
  void unsignedNumbersOfRepeatedFieldsAreUnsigned() throws DescriptorValidationException {
    DescriptorProto.Builder message = DescriptorProto.newBuilder().setName("M");
    for (FieldDescriptorProto.Type type :
        List.of(FieldDescriptorProto.Type.TYPE_UINT32, FieldDescriptorProto.Type.TYPE_FIXED64)) {
      message
          .addFieldBuilder()
          .setName(type == FieldDescriptorProto.Type.TYPE_UINT32 ? "small" : "large")
          .setNumber(message.getFieldCount())
          .setLabel(FieldDescriptorProto.Label.LABEL_REPEATED)
          .setType(type);
    }
    Descriptor descriptor =
        FileDescriptor.buildFrom(
                FileDescriptorProto.newBuilder().addMessageType(message).build(),
                new FileDescriptor[0])
            .findMessageTypeByName("M");
    DynamicMessage found =
        DynamicMessage.newBuilder(descriptor)
            .addRepeatedField(descriptor.findFieldByName("small"), -1)
            .addRepeatedField(descriptor.findFieldByName("large"), -1L)
            .build();
    assertEquals(4294967295L, new FieldPath(List.of("small", "0")).find(found).value());
    assertEquals(
        new BigInteger("18446744073709551615"),
        new FieldPath(List.of("large", "0")).find(found).value());
  }
}
