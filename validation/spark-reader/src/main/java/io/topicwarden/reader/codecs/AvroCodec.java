package io.topicwarden.reader.codecs;

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

/** Avro's binary encoding, without a header. */
final class AvroCodec implements Codec {
  private final Schema writerSchema;
  private final GenericDatumReader<Object> reader;
  private final boolean needsResolution;
  private BinaryDecoder decoder;

  AvroCodec(Schema writerSchema, Schema readerSchema) {
    this.writerSchema = writerSchema;
    reader = new GenericDatumReader<>(writerSchema, readerSchema);
    needsResolution = !writerSchema.equals(readerSchema);
  }

  /**
   * Parses a schema and the schemas that it refers to.
   *
   * @throws AvroRuntimeException if the schema cannot be used
   */
  static Schema parse(String text, Collection<String> references) {
    return parse(new Schema.Parser(), text, references);
  }

  /**
   * Parses the schema of a writer, as {@link #parse}. Its defaults are not validated: registries
   * accept any, as do consumers, who need them for no record of this writer.
   */
  static Schema parseWriter(String text, Collection<String> references) {
    return parse(new Schema.Parser().setValidateDefaults(false), text, references);
  }

  private static Schema parse(Schema.Parser parser, String text, Collection<String> references) {
    references.forEach(parser::parse);
    try {
      return parser.parse(text);
    } catch (NullPointerException unresolved) { // thrown by Avro 1.12 for an unknown type name
      throw new AvroTypeException(
          "Undefined schema: the schema is the name of a type that nothing defines");
    }
  }

  @Override
  public Object decode(byte[] data) throws RecordFault {
    return decode(data, 0);
  }

  Object decode(byte[] data, int from) throws RecordFault {
    AvroBounds.check(data, from, writerSchema);
    try {
      decoder = DecoderFactory.get().binaryDecoder(data, from, data.length - from, decoder);
      return reader.read(null, decoder);
    } catch (IOException | AvroRuntimeException error) {
      throw RecordFault.invalid("not of this Avro schema", PlainCodec.describe(data));
    }
  }

  @Override
  public void check(byte[] data) throws RecordFault {
    check(data, 0);
  }

  void check(byte[] data, int from) throws RecordFault {
    if (needsResolution) {
      decode(data, from);
    } else {
      AvroBounds.check(data, from, writerSchema);
    }
  }

  @Override
  public Object toCel(Object decoded) throws RecordFault {
    if (decoded instanceof GenericRecord record) {
      Map<String, Object> converted = new LinkedHashMap<>();
      for (Schema.Field field : record.getSchema().getFields()) {
        converted.put(field.name(), toCel(record.get(field.pos())));
      }
      return converted;
    }
    if (decoded instanceof Map<?, ?> map) {
      Map<String, Object> converted = new LinkedHashMap<>();
      for (Map.Entry<?, ?> entry : map.entrySet()) {
        converted.put(entry.getKey().toString(), toCel(entry.getValue()));
      }
      return converted;
    }
    if (decoded instanceof Collection<?> items) {
      List<Object> converted = new ArrayList<>(items.size());
      for (Object item : items) {
        converted.add(toCel(item));
      }
      return converted;
    }
    if (decoded instanceof ByteBuffer bytes) {
      byte[] copy = new byte[bytes.remaining()];
      bytes.duplicate().get(copy);
      return copy;
    }
    if (decoded instanceof GenericFixed fixed) {
      return fixed.bytes();
    }
    boolean simple = decoded == null || decoded instanceof Number || decoded instanceof Boolean;
    return simple ? CelNumbers.widen(decoded) : decoded.toString();
  }
}
