package topicwarden;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.AvroTypeException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;

/** Avro's binary encoding of one schema, without a header. */
final class AvroCodec implements Codec {
  private final Schema written;
  private final GenericDatumReader<Object> reader;
  private final boolean resolves;
  private BinaryDecoder decoder;

  /** {@code written} by this schema, to be read as {@code read}. */
  AvroCodec(Schema written, Schema read) {
    this.written = written;
    reader = new GenericDatumReader<>(written, read);
    resolves = written != read;
  }

  /** Parses a schema and those it refers to; throws an {@link AvroRuntimeException} if it cannot be used. */
  static Schema parse(String text, Collection<String> references) {
    Schema.Parser parser = new Schema.Parser();
    references.forEach(parser::parse);
    try {
      return parser.parse(text);
    } catch (NullPointerException unresolved) { // Avro 1.12 numbers a name that it cannot resolve, and then misses it
      throw new AvroTypeException("Undefined schema: the schema is the name of a type that nothing defines");
    }
  }

  @Override
  public Object read(byte[] data) throws Malformed {
    return read(data, 0);
  }

  Object read(byte[] data, int from) throws Malformed {
    AvroBounds.check(data, from, written);
    try {
      decoder = DecoderFactory.get().binaryDecoder(data, from, data.length - from, decoder);
      return reader.read(null, decoder);
    } catch (IOException | AvroRuntimeException error) {
      throw Malformed.because("not of this Avro schema", PlainCodec.shape(data));
    }
  }

  @Override
  public void check(byte[] data) throws Malformed {
    check(data, 0);
  }

  void check(byte[] data, int from) throws Malformed {
    if (resolves) {
      read(data, from);
    } else {
      AvroBounds.check(data, from, written);
    }
  }

  @Override
  public Object plain(Object read) throws Malformed {
    if (read instanceof GenericRecord record) {
      Map<String, Object> plain = new LinkedHashMap<>();
      for (Schema.Field field : record.getSchema().getFields()) {
        plain.put(field.name(), plain(record.get(field.pos())));
      }
      return plain;
    }
    if (read instanceof Map<?, ?> map) {
      Map<String, Object> plain = new LinkedHashMap<>();
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        plain.put(entry.getKey().toString(), plain(entry.getValue()));
      }
      return plain;
    }
    if (read instanceof Collection<?> many) {
      List<Object> plain = new ArrayList<>(many.size());
      for (Object item : many) {
        plain.add(plain(item));
      }
      return plain;
    }
    if (read instanceof ByteBuffer bytes) {
      byte[] held = new byte[bytes.remaining()];
      bytes.duplicate().get(held);
      return held;
    }
    if (read instanceof GenericFixed fixed) {
      return fixed.bytes();
    }
    boolean simple = read == null || read instanceof Number || read instanceof Boolean;
    return simple ? Wide.of(read) : read.toString();
  }
}
