package topicwarden;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericFixed;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;

/** Avro's binary encoding of one schema, without a header. */
final class AvroCodec implements Codec {
  private final GenericDatumReader<Object> reader;
  private BinaryDecoder decoder;

  /** {@code written} by this schema, to be read as {@code read}. */
  AvroCodec(Schema written, Schema read) {
    reader = new GenericDatumReader<>(written, read);
  }

  static Schema parse(String text, Collection<String> references) {
    Schema.Parser parser = new Schema.Parser();
    references.forEach(parser::parse);
    return parser.parse(text);
  }

  @Override
  public Object read(byte[] data) throws Malformed {
    return read(data, 0);
  }

  Object read(byte[] data, int from) throws Malformed {
    try {
      decoder = DecoderFactory.get().binaryDecoder(data, from, data.length - from, decoder);
      Object read = reader.read(null, decoder);
      if (!decoder.isEnd()) {
        throw Malformed.because("not of this Avro schema: bytes are left over", PlainCodec.shape(data));
      }
      return read;
    } catch (EOFException error) {
      throw Malformed.because("not of this Avro schema: it ends too early", PlainCodec.shape(data));
    } catch (IOException | AvroRuntimeException | IndexOutOfBoundsException | NegativeArraySizeException error) {
      throw Malformed.because("not of this Avro schema", PlainCodec.shape(data));
    } catch (OutOfMemoryError | UnsupportedOperationException error) { // a length that is no length
      throw Malformed.because("not of this Avro schema: a length that cannot be", PlainCodec.shape(data));
    }
  }

  @Override
  public Object plain(Object read) {
    if (read instanceof GenericRecord record) {
      Map<String, Object> plain = new LinkedHashMap<>();
      record.getSchema().getFields().forEach(field -> plain.put(field.name(), plain(record.get(field.pos()))));
      return plain;
    }
    if (read instanceof Map<?, ?> map) {
      Map<String, Object> plain = new LinkedHashMap<>();
      map.forEach((name, held) -> plain.put(name.toString(), plain(held)));
      return plain;
    }
    if (read instanceof Collection<?> many) {
      List<Object> plain = new ArrayList<>(many.size());
      many.forEach(held -> plain.add(plain(held)));
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
