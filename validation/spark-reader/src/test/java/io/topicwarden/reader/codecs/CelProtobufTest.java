package io.topicwarden.reader.codecs;

import static io.topicwarden.reader.codecs.Faults.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.google.protobuf.Any;
import com.google.protobuf.ByteString;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Duration;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import com.google.protobuf.NullValue;
import com.google.protobuf.StringValue;
import com.google.protobuf.Struct;
import com.google.protobuf.TextFormat;
import com.google.protobuf.Timestamp;
import com.google.protobuf.UInt64Value;
import com.google.protobuf.Value;
import io.topicwarden.reader.Json;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Expressions over messages have the semantics of CEL's language definition. */
class CelProtobufTest {
  private static final FileDescriptor FILE =
      ProtobufCodec.parse(
          """
          syntax = "proto3";
          package shop;
          import "google/protobuf/any.proto";
          import "google/protobuf/duration.proto";
          import "google/protobuf/struct.proto";
          import "google/protobuf/timestamp.proto";
          import "google/protobuf/wrappers.proto";
          message Order {
            uint32 u32 = 1; uint64 u64 = 2; fixed32 f32 = 3; fixed64 f64 = 4;
            int32 i32 = 5; sint64 s64 = 6; sfixed32 sf32 = 7; float single = 8; double large = 9;
            optional int32 set = 10; optional int32 absent = 11; string text = 12; bytes hash = 13;
            State state = 14; Order parent = 15;
            oneof choice { string card = 16; uint32 voucher = 17; }
            map<uint32, string> by_id = 18; map<bool, State> by_flag = 19; map<string, uint64> by_name = 20;
            repeated uint32 numbers = 21; repeated Order lines = 22;
            google.protobuf.UInt64Value wrapped = 23; google.protobuf.StringValue unwrapped = 24;
            google.protobuf.Timestamp at = 25; google.protobuf.Duration lasts = 26;
            google.protobuf.Struct json = 27; google.protobuf.Value one = 28; google.protobuf.Any any = 29;
            google.protobuf.Any known = 30; State absent_state = 31; google.protobuf.Timestamp never = 32;
            enum State { NEW = 0; PAID = 1; LOST = -1; }
          }
          """,
          Map.of());
  private static final Descriptor TYPE = ProtobufCodec.message(FILE, "shop.Order");

  private static FieldDescriptor field(String name) {
    return TYPE.findFieldByName(name);
  }

  private static Message order() throws TextFormat.ParseException {
    DynamicMessage.Builder order = DynamicMessage.newBuilder(TYPE);
    TextFormat.merge(
        """
        u32: 4100000000 u64: 18446744073709551615 f32: 3000000000 f64: 9223372036854775808
        i32: -5 s64: -9223372036854775808 sf32: -1 single: 1.5 large: 2.5
        set: 0 text: "ä" state: PAID voucher: 4000000000
        by_id { key: 3000000000 value: "x" } by_flag { key: true value: LOST }
        by_name { key: "k" value: 18446744073709551615 }
        numbers: [1, 4294967295] lines { u32: 7 }
        """,
        order);
    Message line = DynamicMessage.newBuilder(TYPE).setField(field("u32"), 9).build();
    return order
        .setField(field("hash"), ByteString.copyFrom(bytes(1, 2)))
        .setField(field("wrapped"), copy("wrapped", UInt64Value.of(-1)))
        .setField(field("at"), copy("at", Timestamp.newBuilder().setSeconds(1_700_000_000).build()))
        .setField(field("lasts"), copy("lasts", Duration.newBuilder().setSeconds(90).build()))
        .setField(
            field("json"), copy("json", Struct.newBuilder().putFields("a", number(3)).build()))
        .setField(
            field("one"),
            copy("one", Value.newBuilder().setNullValue(NullValue.NULL_VALUE).build()))
        .setField(field("any"), copy("any", Any.pack(line)))
        .setField(field("known"), copy("known", Any.pack(StringValue.of("s"))))
        .build();
  }

  private static Value number(double value) {
    return Value.newBuilder().setNumberValue(value).build();
  }

  /** Returns the message with the descriptor that the schema has for the field's type. */
  private static Message copy(String name, Message message) {
    try {
      return DynamicMessage.parseFrom(field(name).getMessageType(), message.toByteString());
    } catch (com.google.protobuf.InvalidProtocolBufferException error) {
      throw new AssertionError(error);
    }
  }

  private static String result(String expression) throws Exception {
    ProtobufCodec codec = new ProtobufCodec(TYPE);
    Object value = CelExpression.celValue(codec.toCel(codec.decode(order().toByteArray())));
    FaultCounts faults = new FaultCounts();
    CelExpression.compile("rule", expression, List.of(FILE))
        .validate(Map.of("value", value), false, 0, faults);
    ArrayNode found = Json.MAPPER.createArrayNode();
    faults.writeTo(found);
    return found.isEmpty() ? "true" : found.path(0).path("reason").asText();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "value.u32 >= 0",
        "value.u32 > 4000000000",
        "value.u32 == 4100000000u",
        "value.u64 == 18446744073709551615u",
        "value.u64 > 9223372036854775807",
        "value.f32 == 3000000000u && value.f64 == 9223372036854775808u",
        "value.i32 == -5 && value.s64 < -9223372036854775807 && value.sf32 == -1",
        "value.single == 1.5 && value.large == 2.5",
        "has(value.set) && value.set == 0",
        "!has(value.absent) && value.absent == 0",
        "!has(value.card) && has(value.voucher) && value.voucher == 4000000000u",
        "has(value.text) && value.text == 'ä' && size(value.text) == 1",
        "value.hash == b'\\x01\\x02'",
        "value.state == 1 && has(value.state)",
        "value.absent_state == 0 && !has(value.absent_state)",
        "!has(value.parent) && value.parent.u32 == 0u",
        "value.by_id[3000000000u] == 'x' && !(1u in value.by_id)",
        "value.by_flag[true] == -1 && has(value.by_name.k) && !has(value.by_name.other)",
        "value.by_name.k == 18446744073709551615u",
        "value.numbers == [1u, 4294967295u] && value.numbers.all(n, n > 0u)",
        "value.lines[0].u32 == 7u && value.lines.exists(line, line.u32 == 7)",
        "value.wrapped == 18446744073709551615u",
        "value.unwrapped == null && !has(value.unwrapped)",
        "value.at == timestamp('2023-11-14T22:13:20Z') && value.at.getFullYear() == 2023",
        "value.lasts == duration('90s')",
        "!has(value.never) && value.never == timestamp('1970-01-01T00:00:00Z')",
        "value.json.a == 3.0 && has(value.json.a)",
        "value.one == null",
        "value.any.u32 == 9u",
        "value.known == 's'",
      })
  void aMessageHasTheSemanticsOfCel(String expression) throws Exception {
    assertEquals("true", result(expression));
  }

  @Test
  void aWrongExpressionIsNotTrue() throws Exception {
    assertEquals("not true", result("value.u32 < 4000000000"));
    assertEquals("not true", result("value.voucher < 0"));
    assertEquals("not true", result("value.state == 'PAID'"));
    assertEquals(
        "cannot be evaluated: the message type has no such field", result("value.unknown == 1"));
  }
}
