package topicwarden;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.Timestamp;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
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

  /**
   * {@code declared} as {@code audit/contracts.py} writes it; {@code registry} is null if the stack has none. A schema
   * or expression that cannot be used leaves its part of every record undecided, and nothing else.
   */
  Contract(JsonNode declared, Registry registry) {
    key = codec(declared.path("key"), registry);
    value = codec(declared.path("value"), registry);
    declared.path("headers").forEach(name -> headers.add(name.asText()));
    for (JsonNode one : declared.path("expressions")) {
      requirements.add(Requirement.of(one.path("id").asText(), one.path("require").asText()));
    }
    largest = declared.path("largest").asLong(Long.MAX_VALUE);
    latest = declared.path("latest").asLong(Long.MAX_VALUE);
  }

  private static Codec codec(JsonNode part, Registry registry) {
    try {
      return usable(part, registry);
    } catch (RuntimeException | StackOverflowError | LinkageError error) {
      return undecided("the schema cannot be used: " + Malformed.cause(error));
    }
  }

  private static Codec undecided(String reason) {
    Malformed malformed = Malformed.unknown(reason);
    return data -> {
      throw malformed;
    };
  }

  private static Codec usable(JsonNode part, Registry registry) {
    String format = part.path("format").asText(null);
    if (format == null) {
      return null;
    }
    if (part.has("unusable")) {
      return undecided("the schema cannot be used: " + part.path("unusable").asText());
    }
    String schema = part.path("schema").asText(null);
    if (part.path("registry").asBoolean()) {
      if (registry == null) {
        return undecided("the stack names no Schema Registry");
      }
      Schema declared = schema == null || !format.equals("avro") ? null : AvroCodec.parse(schema, List.of());
      return new WireCodec(registry, format, part.path("subject").asText(), declared);
    }
    return switch (format) {
      case "json" -> JsonCodec.of(schema, Map.of());
      case "avro" -> avro(schema);
      case "protobuf" -> new ProtobufCodec(
          ProtobufCodec.message(ProtobufCodec.compiled(part.path("descriptors").asText()), part.path("message").asText(null)));
      default -> PlainCodec.of(format);
    };
  }

  private static Codec avro(String text) {
    Schema schema = AvroCodec.parse(text, List.of());
    return new AvroCodec(schema, schema);
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
    headers(record, notes);
    Part readKey = part(key, record.key(), "key-schema", offset, notes);
    Part readValue = part(value, record.value(), "value-schema", offset, notes);
    if (requirements.isEmpty() || readKey.malformed() || readValue.malformed()) {
      return; // an expression is about well-formed records
    }
    Map<String, ?> plain;
    try {
      plain = bounded(() -> plain(record, readKey.get(), readValue.get()));
    } catch (Malformed why) {
      requirements.forEach(one -> one.undecided(why, offset, notes));
      return;
    }
    requirements.forEach(one -> one.judge(plain, record.value() == null, offset, notes));
  }

  /** Notes a record once, however many required headers are missing. */
  private void headers(ConsumerRecord<byte[], byte[]> record, Notes notes) {
    StringJoiner missing = null; // almost every record has all of them
    for (String name : headers) {
      if (record.headers().lastHeader(name) == null) {
        missing = missing == null ? new StringJoiner(", ", "lacks ", "") : missing;
        missing.add(name);
      }
    }
    if (missing != null) {
      notes.fault("header", missing.toString(), "", false, record.offset());
    }
  }

  /** A decoded key or value, or why there is none. */
  private record Part(Object decoded, Malformed fault) {
    boolean malformed() {
      return fault != null && !fault.undecided;
    }

    Object get() throws Malformed {
      if (fault != null) {
        throw fault;
      }
      return decoded;
    }
  }

  private Part part(Codec codec, byte[] data, String rule, long offset, Notes notes) {
    try {
      return new Part(read(codec, data), null);
    } catch (Malformed why) {
      notes.fault(rule, why, offset);
      return new Part(null, why);
    }
  }

  private interface Judging<T> {
    T get() throws Malformed;
  }

  /** What {@code judging} gives; undecided if it ends in an error of a library, as one record must not stop a scan. */
  private static <T> T bounded(Judging<T> judging) throws Malformed {
    try {
      return judging.get();
    } catch (StackOverflowError error) {
      throw Malformed.unknown("nested too deeply for the audit");
    } catch (RuntimeException | LinkageError error) {
      throw Malformed.unknown("cannot be judged: " + error.getClass().getSimpleName()); // a message may hold payload
    }
  }

  /** The decoded value of {@code data}, or null if no requirement asks for it. */
  private Object read(Codec codec, byte[] data) throws Malformed {
    if (codec == null || data == null) {
      return null;
    }
    return bounded(() -> {
      if (requirements.isEmpty()) {
        codec.check(data);
        return null;
      }
      return codec.read(data);
    });
  }

  private Map<String, ?> plain(ConsumerRecord<byte[], byte[]> record, Object readKey, Object readValue)
      throws Malformed {
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

  private static Object cel(Codec codec, Object read, byte[] data) throws Malformed {
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
