package io.topicwarden.reader.codecs;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import io.topicwarden.reader.codecs.ConfluentCodec.MessagePath;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.avro.Schema;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * Counts the keys or values that consumers can read with the schema of their writer, but not with a
 * new schema of the same subject. Used by one thread.
 *
 * <ul>
 *   <li>Avro: {@link AvroResolution} from the writer's schema to the new one. Consumers get the
 *       bytes of a writer whose schema is {@code bytes} as they are, so they can always read them.
 *   <li>JSON Schema: the document is valid by the writer's schema, but not by the new one.
 *   <li>Protocol Buffers: the message type of the same full name in the new schema, or else the
 *       declared type, fails to parse: a required field is missing, a string is not UTF-8, or
 *       nested data is invalid. A field of another wire type is an unknown field, and does not
 *       fail.
 * </ul>
 *
 * <p>A null is read without a schema. Records that the new schema does not affect are counted as
 * such: those of other subjects, and those that consumers cannot read by the schema of their writer
 * either. A record is undecidable if the registry does not answer, or beyond the limits of the
 * audit.
 */
final class NewSchema {
  private interface Reading {
    void read(byte[] data, int from) throws RecordFault;
  }

  /** How consumers read the data of one writer now, and how with the new schema. */
  private record Readings(Reading before, Reading after) {}

  private interface ReadingsFactory {
    Readings create() throws RecordFault;
  }

  private static final Reading ALWAYS_READABLE = (data, from) -> {};

  private final SchemaRegistryClient registry;
  private final String unreadable;
  private final String unaffected;
  private final boolean ofKeys;
  private final String format;
  private final Set<String> subjects = new HashSet<>();
  private final Map<Object, Object> byWriter = new HashMap<>(); // readings, or the faults instead
  private Schema avro;
  private JsonCodec json;
  private FileDescriptor protobuf;
  private String message;
  private RecordFault unusable;

  /**
   * Compiles a new schema. If that fails, every record is undecidable.
   *
   * @param declared {@code id}, {@code part} ({@code key} or {@code value}), {@code subjects} (its
   *     own, and its earlier ones), {@code format}, and {@code schema} and {@code references}
   *     (texts by name, in dependency order) or {@code descriptors} and {@code message}
   * @param registry the Schema Registry of the stack, or null
   */
  NewSchema(JsonNode declared, SchemaRegistryClient registry) {
    this.registry = registry;
    String id = declared.path("id").asText();
    unreadable = "unreadable:" + id;
    unaffected = "unaffected:" + id;
    ofKeys = declared.path("part").asText().equals("key");
    format = declared.path("format").asText();
    declared.path("subjects").forEach(each -> subjects.add(each.asText()));
    try {
      compile(declared);
    } catch (RuntimeException | StackOverflowError | LinkageError error) {
      unusable =
          RecordFault.undecidable("the new schema cannot be used: " + RecordFault.describe(error));
    }
    if (registry == null) {
      unusable = RecordFault.undecidable("the stack has no Schema Registry");
    }
  }

  private void compile(JsonNode declared) {
    String text = declared.path("schema").asText();
    Map<String, String> references = new LinkedHashMap<>();
    declared
        .path("references")
        .properties()
        .forEach(each -> references.put(each.getKey(), each.getValue().asText()));
    switch (format) {
      case "avro" -> avro = AvroCodec.parse(text, references.values());
      case "json" -> json = JsonCodec.registered(text, references);
      case "protobuf" -> {
        protobuf = ProtobufCodec.fromDescriptorSet(declared.path("descriptors").asText());
        message = declared.path("message").asText(null);
      }
      default -> throw new IllegalArgumentException("no format " + format);
    }
  }

  /** Counts a record unless consumers can read it with the new schema. */
  void validate(ConsumerRecord<byte[], byte[]> record, FaultCounts faults) {
    byte[] data = ofKeys ? record.key() : record.value();
    if (data == null) {
      return;
    }
    String rule = unreadable;
    RecordFault fault;
    try {
      SchemaIdHeader.refuse(record.headers(), ofKeys);
      fault = RecordContract.guarded(() -> read(data));
    } catch (RecordFault other) {
      fault = other;
      rule = other.undecidable ? unreadable : unaffected;
    }
    if (fault != null) {
      faults.add(rule, fault, record.offset(), record.timestamp());
    }
  }

  /**
   * Returns why the new schema cannot read {@code data}, or null.
   *
   * @throws RecordFault if the data is unaffected, or undecidable
   */
  private RecordFault read(byte[] data) throws RecordFault {
    if (unusable != null) {
      throw unusable;
    }
    int id = ConfluentCodec.schemaId(data);
    SchemaRegistryClient.Schema schema = registry.schema(id, subjects);
    if (!schema.subjects().isEmpty() && Collections.disjoint(schema.subjects(), subjects)) {
      throw RecordFault.invalid("schema id of another subject", "schema id " + id);
    }
    Readings readings;
    int start = ConfluentCodec.HEADER_BYTES;
    if (schema.type().equalsIgnoreCase("protobuf")) {
      MessagePath path = MessagePath.of(data);
      start = path.end();
      Object writer = path.isFirst() ? (Object) id : id + Arrays.toString(path.indexes());
      readings = cached(writer, () -> protobuf(schema, path.indexes()));
    } else {
      readings = cached(id, () -> readings(schema));
    }
    try {
      readings.after.read(data, start);
      return null;
    } catch (RecordFault fault) {
      if (!fault.undecidable) {
        readings.before.read(data, start);
        return fault;
      }
      throw fault;
    }
  }

  private Readings readings(SchemaRegistryClient.Schema writer) throws RecordFault {
    switch (writer.type().toLowerCase(Locale.ROOT)) {
      case "avro" -> {
        Schema schema = AvroCodec.parseWriter(writer.text(), writer.references().values());
        if (schema.getType() == Schema.Type.BYTES) {
          return new Readings(
              ALWAYS_READABLE, avro == null ? otherFormat(writer) : ALWAYS_READABLE);
        }
        return new Readings(
            new AvroResolution(schema, schema)::read,
            avro == null ? otherFormat(writer) : new AvroResolution(schema, avro)::read);
      }
      case "json" -> {
        return new Readings(
            JsonCodec.registered(writer.text(), writer.references())::check,
            json == null ? otherFormat(writer) : (data, from) -> checkJson(writer, data, from));
      }
      default -> throw RecordFault.undecidable("schema id of the unknown type " + writer.type());
    }
  }

  private void checkJson(SchemaRegistryClient.Schema writer, byte[] data, int from)
      throws RecordFault {
    try {
      json.check(data, from);
    } catch (RecordFault fault) {
      throw writer.encryptsFields() ? ConfluentCodec.encryptedFields() : fault;
    }
  }

  private Readings protobuf(SchemaRegistryClient.Schema writer, int[] path) throws RecordFault {
    Descriptor type = ConfluentCodec.messageType(writer, path);
    Reading before = new ProtobufCodec(type)::decode;
    if (protobuf == null) {
      return new Readings(before, otherFormat(writer));
    }
    Descriptor renamed = message(type.getFullName());
    Reading after =
        renamed == null
            ? failing("the new schema has no message " + type.getFullName())
            : new ProtobufCodec(renamed)::decode;
    return new Readings(before, after);
  }

  /** Returns the message type of the new schema with a full name, or else the declared one. */
  private Descriptor message(String fullName) {
    for (String name : new String[] {fullName, message}) {
      String prefix = protobuf.getPackage().isEmpty() ? "" : protobuf.getPackage() + ".";
      if (name != null && (name.equals(message) || name.startsWith(prefix))) {
        try {
          return ProtobufCodec.message(protobuf, name);
        } catch (IllegalArgumentException none) {
          // The schema has no message of this name: try the next one.
        }
      }
    }
    return null;
  }

  private Reading otherFormat(SchemaRegistryClient.Schema writer) {
    return failing(
        "written as " + writer.type() + ", the new schema is " + format.toUpperCase(Locale.ROOT));
  }

  private static Reading failing(String reason) {
    RecordFault fault = RecordFault.invalid(reason, "");
    return (data, from) -> {
      throw fault;
    };
  }

  /** Creates the readings of each writer once, also if that fails. */
  private Readings cached(Object writer, ReadingsFactory factory) throws RecordFault {
    Object cached = byWriter.get(writer);
    if (cached == null) {
      try {
        cached = factory.create();
      } catch (RecordFault fault) {
        cached = fault;
      } catch (RuntimeException | StackOverflowError | LinkageError error) {
        cached =
            RecordFault.undecidable(
                "the registry's schema cannot be used: " + RecordFault.describe(error));
      }
      byWriter.put(writer, cached);
    }
    if (cached instanceof RecordFault fault) {
      throw fault;
    }
    return (Readings) cached;
  }
}
