package io.topicwarden.reader.codecs;

import com.google.protobuf.CodedInputStream;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.avro.SchemaCompatibility.SchemaCompatibilityType;

/**
 * Confluent's wire format: a zero byte, the schema id in four bytes, for Protocol Buffers the path
 * of the message type in its file, then the data. The Schema Registry must know the id for the
 * declared subject.
 */
final class ConfluentCodec implements Codec {
  static final int HEADER_BYTES = 5;
  private static final int MAX_MESSAGE_PATH = 16;

  /** A decoded value with the codec that decoded it, and whether its fields may be encrypted. */
  record DecodedValue(Codec codec, Object decoded, boolean encrypted) {
    /** Returns the decoded value; throws if it cannot be told which one it is. */
    Object single() throws RecordFault {
      requirePlain();
      return codec instanceof UnknownLength ? codec.toCel(decoded) : decoded;
    }

    private void requirePlain() throws RecordFault {
      if (encrypted) {
        throw encryptedFields();
      }
    }
  }

  static RecordFault encryptedFields() {
    return RecordFault.undecidable("a rule of its schema encrypts fields");
  }

  private final SchemaRegistryClient registry;
  private final String format;
  private final String subject;
  private final Schema readerSchema;
  private final Map<Object, Object> codecs = new HashMap<>(); // codecs, or the faults instead

  /**
   * Creates a codec for one subject.
   *
   * @param readerSchema the Avro schema that must be able to read what every writer wrote, or null
   */
  ConfluentCodec(
      SchemaRegistryClient registry, String format, String subject, Schema readerSchema) {
    this.registry = registry;
    this.format = format;
    this.subject = subject;
    this.readerSchema = readerSchema;
  }

  /** Returns the schema id of {@code data}. */
  static int schemaId(byte[] data) throws RecordFault {
    if (data.length < HEADER_BYTES || data[0] != 0) {
      throw RecordFault.invalid("not in Confluent's wire format", PlainCodec.describe(data));
    }
    return ByteBuffer.wrap(data, 1, Integer.BYTES).getInt();
  }

  @Override
  public Object decode(byte[] data) throws RecordFault {
    int id = schemaId(data);
    SchemaRegistryClient.Schema schema = registry.schema(id, List.of(subject));
    if (!schema.type().equalsIgnoreCase(format)) {
      String expected = format.toUpperCase(Locale.ROOT);
      throw RecordFault.invalid("schema id of " + schema.type() + ", not of " + expected, "");
    }
    if (!schema.subjects().contains(subject) && registry.isDeletedVersion(id, subject)) {
      throw RecordFault.invalid("schema id of a deleted version of " + subject, "schema id " + id);
    }
    if (schema.subjects().isEmpty()) {
      throw RecordFault.invalid("schema id without a subject", "");
    }
    if (!schema.subjects().contains(subject)) {
      throw RecordFault.invalid("schema id of another subject than " + subject, "schema id " + id);
    }
    return switch (format) {
      case "avro" -> {
        Codec codec = cached(id, () -> avroCodec(id, schema));
        Object decoded =
            codec instanceof AvroCodec avro ? avro.decode(data, HEADER_BYTES) : codec.decode(data);
        yield new DecodedValue(codec, decoded, schema.encryptsFields());
      }
      case "json" -> {
        JsonCodec codec =
            (JsonCodec) cached(id, () -> JsonCodec.registered(schema.text(), schema.references()));
        yield new DecodedValue(codec, decodeJson(codec, schema, data), schema.encryptsFields());
      }
      default -> decodeProtobuf(id, schema, data);
    };
  }

  @Override
  public Object toCel(Object decoded) throws RecordFault {
    DecodedValue value = (DecodedValue) decoded;
    value.requirePlain();
    return value.codec().toCel(value.decoded());
  }

  /** Decodes JSON. Encrypted texts may break rules that the texts themselves meet. */
  private static Object decodeJson(JsonCodec codec, SchemaRegistryClient.Schema schema, byte[] data)
      throws RecordFault {
    try {
      return codec.decode(data, HEADER_BYTES);
    } catch (RecordFault fault) {
      if (schema.encryptsFields() && !fault.undecidable) {
        JsonText.check(data, HEADER_BYTES);
        throw encryptedFields();
      }
      throw fault;
    }
  }

  private Codec avroCodec(int id, SchemaRegistryClient.Schema schema) throws RecordFault {
    Schema writerSchema = AvroCodec.parseWriter(schema.text(), schema.references().values());
    if (readerSchema == null) {
      return resolved(writerSchema, writerSchema);
    }
    SchemaCompatibilityType compatibility =
        SchemaCompatibility.checkReaderWriterCompatibility(readerSchema, writerSchema).getType();
    if (compatibility != SchemaCompatibilityType.COMPATIBLE) {
      throw RecordFault.invalid(
          "written by a schema that the declared one cannot read", "schema id " + id);
    }
    Schema.applyAliases(writerSchema, readerSchema); // validates the defaults of the writer
    return resolved(writerSchema, readerSchema);
  }

  private static Codec resolved(Schema writerSchema, Schema readerSchema) {
    return writerSchema.getType() == Schema.Type.BYTES
        ? new UnknownLength()
        : new AvroCodec(writerSchema, readerSchema);
  }

  /**
   * The Avro schema {@code "bytes"}: Confluent's serializer writes them without their length, other
   * serializers with it. Any data is valid, and which bytes the value has cannot be told.
   */
  private static final class UnknownLength implements Codec {
    @Override
    public Object decode(byte[] data) {
      return data;
    }

    @Override
    public Object toCel(Object decoded) throws RecordFault {
      throw RecordFault.undecidable("Avro bytes, which are written with and without a length");
    }
  }

  private DecodedValue decodeProtobuf(int id, SchemaRegistryClient.Schema schema, byte[] data)
      throws RecordFault {
    MessagePath path = MessagePath.of(data);
    ProtobufCodec codec =
        (ProtobufCodec)
            cached(
                id + Arrays.toString(path.indexes()),
                () -> new ProtobufCodec(messageType(schema, path.indexes())));
    return new DecodedValue(codec, codec.decode(data, path.end()), schema.encryptsFields());
  }

  /**
   * The path of the message type in its file.
   *
   * @param end the offset of the message in the data
   */
  record MessagePath(int[] indexes, int end) {
    private static final int[] FIRST = {0};

    boolean isFirst() {
      return indexes == FIRST;
    }

    static MessagePath of(byte[] data) throws RecordFault {
      if (data.length > HEADER_BYTES && data[HEADER_BYTES] == 0) { // almost all paths
        return new MessagePath(FIRST, HEADER_BYTES + 1);
      }
      CodedInputStream input =
          CodedInputStream.newInstance(data, HEADER_BYTES, data.length - HEADER_BYTES);
      try {
        int length = input.readSInt32();
        if (length < 0 || length > MAX_MESSAGE_PATH) {
          throw invalidMessagePath(data);
        }
        int[] indexes = new int[Math.max(length, 1)]; // an empty path is the first message type
        for (int i = 0; i < length; i++) {
          indexes[i] = input.readSInt32();
        }
        return new MessagePath(indexes, HEADER_BYTES + input.getTotalBytesRead());
      } catch (IOException error) {
        throw invalidMessagePath(data);
      }
    }
  }

  private static RecordFault invalidMessagePath(byte[] data) {
    return RecordFault.invalid("an invalid message path", PlainCodec.describe(data));
  }

  /** Returns the message type at {@code path} in the file of a registered schema. */
  static Descriptor messageType(SchemaRegistryClient.Schema schema, int[] path) throws RecordFault {
    FileDescriptor file = ProtobufCodec.parse(schema.text(), schema.references());
    List<Descriptor> types = file.getMessageTypes();
    Descriptor type = null;
    for (int index : path) {
      if (index < 0 || index >= types.size()) {
        throw RecordFault.invalid("a message path that the schema does not have", "");
      }
      type = types.get(index);
      types = type.getNestedTypes();
    }
    return type;
  }

  private interface CodecFactory {
    Codec create() throws RecordFault;
  }

  /** Creates each codec once, also if that fails. */
  private Codec cached(Object key, CodecFactory factory) throws RecordFault {
    Object cached = codecs.get(key);
    if (cached == null) {
      try {
        cached = factory.create();
      } catch (RecordFault fault) {
        cached = fault;
      } catch (RuntimeException | StackOverflowError | LinkageError error) {
        String reason = "the registry's schema cannot be used: " + RecordFault.describe(error);
        cached = RecordFault.undecidable(reason);
      }
      codecs.put(key, cached);
    }
    if (cached instanceof RecordFault fault) {
      throw fault;
    }
    return (Codec) cached;
  }
}
