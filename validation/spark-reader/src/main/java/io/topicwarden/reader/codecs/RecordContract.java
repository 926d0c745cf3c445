package io.topicwarden.reader.codecs;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.Timestamp;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.StringJoiner;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.avro.Schema;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;

/** What one topic declares about its records. Used by one thread. */
public final class RecordContract {
  private static final byte[] WITHOUT_ID = {};

  private final Codec keyCodec;
  private final Codec valueCodec;
  private final List<String> requiredHeaders = new ArrayList<>();
  private final List<CelExpression> expressions = new ArrayList<>();
  private final List<NewSchema> newSchemas = new ArrayList<>();
  private final long maxRecordBytes;
  private final long maxTimestamp;
  private final boolean countsKeyIds;
  private final boolean countsValueIds;

  /**
   * Builds the codecs and expressions of a contract. If a schema or an expression cannot be used,
   * that part of every record is undecidable; all other parts are still validated.
   *
   * @param declared the object that {@code audit/scan/contracts.py} writes as {@code records}, or
   *     {@code audit/retained_records.py} with {@code new_schemas}
   * @param registry the Schema Registry of the stack, or null
   * @param last the JSON that other rules parse, too, or null
   */
  RecordContract(JsonNode declared, SchemaRegistryClient registry, LastJson last) {
    keyCodec = codec(declared.path("key"), registry, last);
    valueCodec = codec(declared.path("value"), registry, last);
    declared.path("headers").forEach(name -> requiredHeaders.add(name.asText()));
    Set<FileDescriptor> schemas =
        Stream.of(keyCodec, valueCodec)
            .filter(Objects::nonNull)
            .map(Codec::messageTypes)
            .filter(Objects::nonNull)
            .collect(Collectors.toSet());
    for (JsonNode expression : declared.path("expressions")) {
      String id = expression.path("id").asText();
      expressions.add(CelExpression.compile(id, expression.path("require").asText(), schemas));
    }
    maxRecordBytes = declared.path("largest").asLong(Long.MAX_VALUE);
    maxTimestamp = declared.path("latest").asLong(Long.MAX_VALUE);
    countsKeyIds = declared.path("key").path("ids").asBoolean();
    countsValueIds = declared.path("value").path("ids").asBoolean();
    declared.path("new_schemas").forEach(each -> newSchemas.add(new NewSchema(each, registry)));
  }

  static Codec codec(JsonNode declared, SchemaRegistryClient registry, LastJson last) {
    try {
      return createCodec(declared, registry, last);
    } catch (RuntimeException | StackOverflowError | LinkageError error) {
      return alwaysUndecidable("the schema cannot be used: " + RecordFault.describe(error));
    }
  }

  private static Codec alwaysUndecidable(String reason) {
    RecordFault fault = RecordFault.undecidable(reason);
    return data -> {
      throw fault;
    };
  }

  /** Returns null if no format is declared. */
  private static Codec createCodec(
      JsonNode declared, SchemaRegistryClient registry, LastJson last) {
    String format = declared.path("format").asText(null);
    if (format == null) {
      return null;
    }
    if (declared.has("unusable")) {
      return alwaysUndecidable("the schema cannot be used: " + declared.path("unusable").asText());
    }
    String schema = declared.path("schema").asText(null);
    if (declared.path("registry").asBoolean()) {
      if (registry == null) {
        return alwaysUndecidable("the stack has no Schema Registry");
      }
      boolean hasReaderSchema = schema != null && format.equals("avro");
      List<String> references = new ArrayList<>();
      declared.path("references").forEach(text -> references.add(text.asText()));
      Schema readerSchema = hasReaderSchema ? AvroCodec.parse(schema, references) : null;
      return new ConfluentCodec(registry, format, declared.path("subject").asText(), readerSchema);
    }
    return switch (format) {
      case "json" -> JsonCodec.declared(schema, Map.of(), last);
      case "avro" -> avroCodec(schema);
      case "protobuf" -> protobufCodec(declared);
      default -> PlainCodec.of(format);
    };
  }

  private static Codec avroCodec(String text) {
    Schema schema = AvroCodec.parse(text, List.of());
    return new AvroCodec(schema, schema);
  }

  private static Codec protobufCodec(JsonNode declared) {
    return new ProtobufCodec(
        ProtobufCodec.message(
            ProtobufCodec.fromDescriptorSet(declared.path("descriptors").asText()),
            declared.path("message").asText(null)));
  }

  /** Validates a record, and counts its faults and the schema ids that it names. */
  public void validate(
      ConsumerRecord<byte[], byte[]> record, FaultCounts faults, SchemaIds schemaIds) {
    long offset = record.offset();
    if (length(record.key()) + length(record.value()) > maxRecordBytes) {
      faults.add("record-size", "larger than declared", offset);
    }
    if (record.timestamp() > maxTimestamp) {
      faults.add("timestamp-future", "further ahead than declared", offset);
    }
    validateHeaders(record, faults);
    for (NewSchema schema : newSchemas) {
      schema.validate(record, faults);
    }
    DecodeResult key = decode(keyCodec, record, true, faults);
    DecodeResult value = decode(valueCodec, record, false, faults);
    if (countsKeyIds) {
      schemaIds.add("key", withId(record, true), offset, key.isInvalid());
    }
    if (countsValueIds) {
      schemaIds.add("value", withId(record, false), offset, value.isInvalid());
    }
    if (expressions.isEmpty() || key.isInvalid() || value.isInvalid()) {
      return; // expressions are only defined for well-formed records
    }
    Map<String, ?> variables;
    try {
      variables = guarded(() -> variables(record, key.get(), value.get()));
    } catch (RecordFault fault) {
      expressions.forEach(expression -> expression.addUndecidable(fault, offset, faults));
      return;
    }
    boolean tombstone = record.value() == null;
    expressions.forEach(expression -> expression.validate(variables, tombstone, offset, faults));
  }

  /** Counts a record once, however many required headers are missing. */
  private void validateHeaders(ConsumerRecord<byte[], byte[]> record, FaultCounts faults) {
    StringJoiner missing = null; // almost every record has all headers
    for (String name : requiredHeaders) {
      if (record.headers().lastHeader(name) == null) {
        missing = missing == null ? new StringJoiner(", ", "missing ", "") : missing;
        missing.add(name);
      }
    }
    if (missing != null) {
      faults.add("header", missing.toString(), record.offset());
    }
  }

  /** A decoded key or value, or the reason why there is none. */
  private record DecodeResult(Object decoded, RecordFault fault) {
    boolean isInvalid() {
      return fault != null && !fault.undecidable;
    }

    Object get() throws RecordFault {
      if (fault != null) {
        throw fault;
      }
      return decoded;
    }
  }

  private DecodeResult decode(
      Codec codec, ConsumerRecord<byte[], byte[]> record, boolean ofKey, FaultCounts faults) {
    try {
      byte[] data = ofKey ? record.key() : record.value();
      if (data != null) {
        SchemaIdHeader.refuse(codec, record.headers(), ofKey);
      }
      return new DecodeResult(decode(codec, data), null);
    } catch (RecordFault fault) {
      faults.add(ofKey ? "key-schema" : "value-schema", fault, record.offset());
      return new DecodeResult(null, fault);
    }
  }

  /** Returns the key or the value with the schema id; without it if a header names the schema. */
  private static byte[] withId(ConsumerRecord<byte[], byte[]> record, boolean ofKey) {
    byte[] data = ofKey ? record.key() : record.value();
    return data != null && SchemaIdHeader.isIn(record.headers(), ofKey) ? WITHOUT_ID : data;
  }

  interface FaultySupplier<T> {
    T get() throws RecordFault;
  }

  /** Makes an error of a library undecidable, because one record must not stop a scan. */
  static <T> T guarded(FaultySupplier<T> supplier) throws RecordFault {
    try {
      return supplier.get();
    } catch (StackOverflowError error) {
      throw RecordFault.undecidable("nested too deeply for the audit");
    } catch (RuntimeException | LinkageError error) { // whose message may hold payload
      throw RecordFault.undecidable("cannot be validated: " + error.getClass().getSimpleName());
    }
  }

  /** Returns the decoded value of {@code data}, or null if no expression needs it. */
  private Object decode(Codec codec, byte[] data) throws RecordFault {
    if (codec == null || data == null) {
      return null;
    }
    return guarded(
        () -> {
          if (expressions.isEmpty()) {
            codec.check(data);
            return null;
          }
          return codec.decode(data);
        });
  }

  private Map<String, ?> variables(
      ConsumerRecord<byte[], byte[]> record, Object decodedKey, Object decodedValue)
      throws RecordFault {
    Map<String, Object> headers = new HashMap<>();
    for (Header header : record.headers()) {
      byte[] bytes = header.value();
      headers.put(header.key(), bytes == null ? null : new String(bytes, StandardCharsets.UTF_8));
    }
    Map<String, Object> variables = new HashMap<>();
    variables.put("key", variable(keyCodec, decodedKey, record.key()));
    variables.put("value", variable(valueCodec, decodedValue, record.value()));
    variables.put("headers", CelExpression.celValue(headers));
    long millis = record.timestamp();
    if (millis >= 0) { // without a timestamp, an expression that needs it cannot be evaluated
      variables.put(
          "timestamp",
          Timestamp.newBuilder()
              .setSeconds(millis / 1000)
              .setNanos((int) (millis % 1000) * 1_000_000)
              .build());
    }
    return variables;
  }

  private static Object variable(Codec codec, Object decoded, byte[] data) throws RecordFault {
    if (data == null) {
      return CelExpression.celValue(null);
    }
    return CelExpression.celValue(codec == null ? data : codec.toCel(decoded));
  }

  private static long length(byte[] data) {
    return data == null ? 0 : data.length;
  }
}
