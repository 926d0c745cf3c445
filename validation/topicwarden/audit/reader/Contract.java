package topicwarden;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.Timestamp;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;

/** What is declared of one topic's records, ready to judge them. Used by one thread. */
final class Contract {
  private final Codec key;
  private final Codec value;
  private final List<String> headers = new ArrayList<>();
  private final List<Requirement> requirements = new ArrayList<>();
  private final long largest;
  private final long latest;

  /** {@code declared} as {@code audit/contents.py} writes it; {@code registry} where the stack has one. */
  Contract(JsonNode declared, Registry registry) {
    key = codec(declared.path("key"), registry);
    value = codec(declared.path("value"), registry);
    declared.path("headers").forEach(name -> headers.add(name.asText()));
    for (JsonNode one : declared.path("expressions")) {
      requirements.add(new Requirement(one.path("id").asText(), one.path("require").asText()));
    }
    largest = declared.path("largest").asLong(Long.MAX_VALUE);
    latest = declared.path("latest").asLong(Long.MAX_VALUE);
  }

  private static Codec codec(JsonNode part, Registry registry) {
    String format = part.path("format").asText(null);
    if (format == null) {
      return null;
    }
    String schema = part.path("schema").asText(null);
    if (part.path("registry").asBoolean()) {
      if (registry == null) {
        Malformed nobody = Malformed.unknown("the stack names no Schema Registry");
        return data -> {
          throw nobody;
        };
      }
      Schema declared = schema == null || !format.equals("avro") ? null : AvroCodec.parse(schema, List.of());
      return new WireCodec(registry, format, part.path("subject").asText(), declared);
    }
    return switch (format) {
      case "json" -> JsonCodec.of(schema);
      case "avro" -> schema == null ? data -> data : avro(schema);
      case "protobuf" -> schema == null ? data -> data : protobuf(schema, part.path("message").asText(null));
      default -> PlainCodec.of(format);
    };
  }

  private static Codec avro(String text) {
    Schema schema = AvroCodec.parse(text, List.of());
    return new AvroCodec(schema, schema);
  }

  private static Codec protobuf(String text, String message) {
    return new ProtobufCodec(ProtobufCodec.message(ProtobufCodec.parse(text, Map.of()), message));
  }

  void judge(ConsumerRecord<byte[], byte[]> record, Notes notes) {
    long offset = record.offset();
    long size = length(record.key()) + length(record.value());
    if (size > largest) {
      notes.fault("record-size", "larger than declared", "", false, offset);
    }
    if (record.timestamp() > latest) {
      notes.fault("timestamp-future", "further ahead than declared", "", false, offset);
    }
    for (String name : headers) {
      if (record.headers().lastHeader(name) == null) {
        notes.fault("header", "lacks " + name, "", false, offset);
      }
    }
    boolean whole = true;
    Object readKey = null;
    Object readValue = null;
    try {
      readKey = read(key, record.key());
    } catch (Malformed why) {
      notes.fault("key-schema", why, offset);
      whole = false;
    }
    try {
      readValue = read(value, record.value());
    } catch (Malformed why) {
      notes.fault("value-schema", why, offset);
      whole = false;
    }
    if (whole && !requirements.isEmpty()) {
      Map<String, ?> plain = plain(record, readKey, readValue);
      requirements.forEach(one -> one.judge(plain, record.value() == null, offset, notes));
    }
  }

  /** What {@code data} says, where a requirement may ask for it. */
  private Object read(Codec codec, byte[] data) throws Malformed {
    if (codec == null || data == null) {
      return null;
    }
    if (requirements.isEmpty()) {
      codec.check(data);
      return null;
    }
    return codec.read(data);
  }

  private Map<String, ?> plain(ConsumerRecord<byte[], byte[]> record, Object readKey, Object readValue) {
    Map<String, Object> headerTexts = new HashMap<>();
    for (Header header : record.headers()) {
      byte[] held = header.value();
      headerTexts.put(header.key(), held == null ? null : new String(held, StandardCharsets.UTF_8));
    }
    Map<String, Object> plain = new HashMap<>();
    plain.put("key", cel(key, readKey, record.key()));
    plain.put("value", cel(value, readValue, record.value()));
    plain.put("headers", cel(headerTexts));
    long time = record.timestamp();
    plain.put("timestamp", Timestamp.newBuilder()
        .setSeconds(Math.floorDiv(time, 1000L)).setNanos((int) Math.floorMod(time, 1000L) * 1_000_000).build());
    return plain;
  }

  private static Object cel(Codec codec, Object read, byte[] data) {
    return cel(data == null ? null : codec == null ? data : codec.plain(read));
  }

  /** CEL has a null and a kind of bytes of its own. */
  private static Object cel(Object plain) {
    if (plain == null) {
      return Requirement.NULL;
    }
    if (plain instanceof byte[] bytes) {
      return Requirement.bytes(bytes);
    }
    if (plain instanceof Map<?, ?> map) {
      Map<Object, Object> held = new HashMap<>();
      map.forEach((name, one) -> held.put(name, cel(one)));
      return held;
    }
    return plain instanceof List<?> list ? list.stream().map(Contract::cel).toList() : plain;
  }

  private static long length(byte[] data) {
    return data == null ? 0 : data.length;
  }
}
