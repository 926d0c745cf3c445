package topicwarden;

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
 * Confluent's wire format: a zero, the schema's id in four bytes, for Protocol Buffers the path of the message in its
 * file, then the data. The id must be the registry's, and of the declared subject.
 */
final class WireCodec implements Codec {
  private static final int HEADER = 5;
  private static final int MOST_DEPTH = 16;

  private record Held(Codec codec, Object read) {}

  private final Registry registry;
  private final String format;
  private final String subject;
  private final Schema declared;
  private final Map<Object, Object> codecs = new HashMap<>();

  /** {@code declared}: the Avro schema that every writer's must be readable by; null where none is declared. */
  WireCodec(Registry registry, String format, String subject, Schema declared) {
    this.registry = registry;
    this.format = format;
    this.subject = subject;
    this.declared = declared;
  }

  @Override
  public Object read(byte[] data) throws Malformed {
    if (data.length < HEADER || data[0] != 0) {
      throw Malformed.because("not in Confluent's wire format", PlainCodec.shape(data));
    }
    int id = ByteBuffer.wrap(data, 1, Integer.BYTES).getInt();
    Registry.Schema schema = registry.schema(id);
    if (!schema.type().equalsIgnoreCase(format)) {
      throw Malformed.because("schema id of " + schema.type() + ", not of " + format.toUpperCase(Locale.ROOT), "");
    }
    if (!schema.subjects().contains(subject)) {
      throw Malformed.because("schema id of another subject than " + subject, "schema id " + id);
    }
    return switch (format) {
      case "avro" -> held(avro(id, schema), codec -> ((AvroCodec) codec).read(data, HEADER));
      case "json" -> held(json(id, schema), codec -> ((JsonCodec) codec).read(data, HEADER));
      default -> protobuf(id, schema, data);
    };
  }

  @Override
  public Object plain(Object read) throws Malformed {
    Held held = (Held) read;
    return held.codec().plain(held.read());
  }

  private interface Reading {
    Object by(Codec codec) throws Malformed;
  }

  private static Held held(Codec codec, Reading reading) throws Malformed {
    return new Held(codec, reading.by(codec));
  }

  private Codec avro(int id, Registry.Schema schema) throws Malformed {
    return codec(id, () -> {
      Schema written = AvroCodec.parse(schema.text(), schema.references().values());
      if (declared == null) {
        return new AvroCodec(written, written);
      }
      if (SchemaCompatibility.checkReaderWriterCompatibility(declared, written).getType()
          != SchemaCompatibilityType.COMPATIBLE) {
        throw Malformed.because("written by a schema that the declared one cannot read", "schema id " + id);
      }
      return new AvroCodec(written, declared);
    });
  }

  private Codec json(int id, Registry.Schema schema) throws Malformed {
    return codec(id, () -> JsonCodec.of(schema.text(), schema.references()));
  }

  private Held protobuf(int id, Registry.Schema schema, byte[] data) throws Malformed {
    CodedInputStream input = CodedInputStream.newInstance(data, HEADER, data.length - HEADER);
    int[] path;
    try {
      int depth = input.readSInt32();
      if (depth < 0 || depth > MOST_DEPTH) {
        throw Malformed.because("a message path that cannot be", PlainCodec.shape(data));
      }
      path = new int[Math.max(depth, 1)]; // none stands for the first message
      for (int at = 0; at < depth; at++) {
        path[at] = input.readSInt32();
      }
    } catch (IOException error) {
      throw Malformed.because("a message path that cannot be", PlainCodec.shape(data));
    }
    int start = HEADER + input.getTotalBytesRead();
    Codec codec = codec(id + Arrays.toString(path), () -> new ProtobufCodec(message(schema, path)));
    return held(codec, one -> ((ProtobufCodec) one).read(data, start));
  }

  private static Descriptor message(Registry.Schema schema, int[] path) throws Malformed {
    FileDescriptor file = ProtobufCodec.parse(schema.text(), schema.references());
    List<Descriptor> types = file.getMessageTypes();
    Descriptor found = null;
    for (int index : path) {
      if (index < 0 || index >= types.size()) {
        throw Malformed.because("a message path that its schema has not", "");
      }
      found = types.get(index);
      types = found.getNestedTypes();
    }
    return found;
  }

  private interface Making {
    Codec make() throws Malformed;
  }

  private Codec codec(Object key, Making making) throws Malformed {
    Object held = codecs.get(key);
    if (held == null) {
      try {
        held = making.make();
      } catch (Malformed error) {
        held = error;
      } catch (RuntimeException | StackOverflowError | LinkageError error) {
        held = Malformed.unknown("the registry's schema cannot be used: " + Malformed.cause(error));
      }
      codecs.put(key, held);
    }
    if (held instanceof Malformed error) {
      throw error;
    }
    return (Codec) held;
  }
}
