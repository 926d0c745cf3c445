package io.topicwarden.reader.codecs;

import static io.topicwarden.reader.codecs.Faults.assertInvalid;
import static io.topicwarden.reader.codecs.Faults.assertUndecidable;
import static io.topicwarden.reader.codecs.Faults.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.google.protobuf.ByteString;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import java.util.Base64;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ProtobufCodecTest {
  private static final String ADDRESS =
      "syntax = \"proto3\"; package shop; message Address { string city = 1; }";
  private static final String ORDER =
      """
      syntax = "proto3";
      package shop;
      import "address.proto";
      message Order {
        int32 id = 1;
        optional string note = 2;
        repeated float prices = 3;
        map<string, int64> amounts = 4;
        Address address = 5;
        bytes hash = 6;
        State state = 7;
        Order parent = 8;
        message Line { bool gift = 1; }
        repeated Line lines = 9;
        enum State { NEW = 0; PAID = 1; }
      }
      """;
  private static final FileDescriptor FILE =
      ProtobufCodec.parse(ORDER, Map.of("address.proto", ADDRESS));
  private static final Descriptor TYPE = ProtobufCodec.message(FILE, "shop.Order");

  private final ProtobufCodec codec = new ProtobufCodec(TYPE);

  @Test
  void passesTheMessageToCel() throws Exception {
    Descriptor line = ProtobufCodec.message(FILE, "Order.Line");
    DynamicMessage order =
        DynamicMessage.newBuilder(TYPE)
            .setField(TYPE.findFieldByName("id"), 7)
            .addRepeatedField(TYPE.findFieldByName("prices"), 1.5f)
            .setField(TYPE.findFieldByName("hash"), ByteString.copyFrom(bytes(1, 2)))
            .setField(
                TYPE.findFieldByName("state"),
                TYPE.findEnumTypeByName("State").findValueByName("PAID"))
            .addRepeatedField(
                TYPE.findFieldByName("lines"),
                DynamicMessage.newBuilder(line)
                    .setField(line.findFieldByName("gift"), true)
                    .build())
            .build();
    byte[] amounts = bytes(0x22, 5, 0x0a, 1, 'a', 0x10, 9); // a map entry
    byte[] data = order.toByteString().concat(ByteString.copyFrom(amounts)).toByteArray();
    codec.check(data);
    assertEquals(DynamicMessage.parseFrom(TYPE, data), codec.toCel(codec.decode(data)));
  }

  @Test
  void unknownFieldsAreAllowed() throws RecordFault {
    codec.check(bytes(0xf8, 0x07, 1));
    codec.check(new byte[0]);
  }

  @Test
  void refusesOtherBytes() {
    String reason = "not a Order of Protocol Buffers";
    assertInvalid(reason, () -> codec.check(bytes(0x08)));
    assertInvalid(reason, () -> codec.check(bytes(0x0c))); // the end of a group without its start
    assertInvalid(reason + ": a string that is not UTF-8", () -> codec.check(bytes(0x12, 1, 0xff)));
  }

  @Test
  void deepMessagesAreUndecidable() throws RecordFault {
    codec.check(nested(ProtobufCodec.MAX_DEPTH - 1));
    assertUndecidable(
        "Protocol Buffers beyond the limits of the audit: more than 100 nested messages",
        () -> codec.check(nested(ProtobufCodec.MAX_DEPTH + 1)));
  }

  private static byte[] nested(int depth) {
    DynamicMessage message = DynamicMessage.getDefaultInstance(TYPE);
    for (int i = 0; i < depth; i++) {
      message =
          DynamicMessage.newBuilder(TYPE).setField(TYPE.findFieldByName("parent"), message).build();
    }
    return message.toByteArray();
  }

  @Test
  void findsMessageTypesByName() {
    assertEquals("Order", ProtobufCodec.message(FILE, null).getName());
    assertEquals("shop.Order.Line", ProtobufCodec.message(FILE, "Order.Line").getFullName());
    assertThrows(IllegalArgumentException.class, () -> ProtobufCodec.message(FILE, "Other"));
    assertThrows(
        IllegalArgumentException.class, () -> ProtobufCodec.message(FILE, "Order.Nothing"));
  }

  @Test
  void buildsDescriptorSets() {
    FileDescriptorSet set =
        FileDescriptorSet.newBuilder()
            .addFile(FILE.getDependencies().get(0).toProto())
            .addFile(FILE.toProto())
            .build();
    FileDescriptor built =
        ProtobufCodec.fromDescriptorSet(Base64.getEncoder().encodeToString(set.toByteArray()));
    assertEquals("shop.Order", ProtobufCodec.message(built, null).getFullName());
    assertThrows(IllegalArgumentException.class, () -> ProtobufCodec.fromDescriptorSet("CgM="));
  }

  @Test
  void refusesSchemasThatCannotBeUsed() {
    assertThrows(RuntimeException.class, () -> ProtobufCodec.parse("message {", Map.of()));
    assertThrows(RuntimeException.class, () -> ProtobufCodec.parse(ORDER, Map.of()));
    assertThrows(
        IllegalArgumentException.class,
        () -> ProtobufCodec.parse(ADDRESS, Map.of("../outside.proto", ADDRESS)));
  }
}
