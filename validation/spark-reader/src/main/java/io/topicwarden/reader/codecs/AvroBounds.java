package io.topicwarden.reader.codecs;

import java.util.List;
import org.apache.avro.Schema;

/**
 * Validates Avro's binary encoding without allocating memory. Avro's own reader allocates as much
 * as a length in the data claims.
 *
 * <p>The limits are {@link #MAX_DEPTH} nested values and {@link #MAX_EMPTY_ITEMS} items that take
 * no bytes: an array of 2^63 such items needs only ten bytes.
 */
final class AvroBounds {
  static final int MAX_DEPTH = 500;
  static final int MAX_EMPTY_ITEMS = 1_000_000;

  private final byte[] data;
  private int at;
  private int depth;
  private long emptyItems;

  private AvroBounds(byte[] data, int from) {
    this.data = data;
    this.at = from;
  }

  /**
   * Throws unless the bytes from {@code from} are one value of {@code schema}. The value is
   * undecidable beyond the limits.
   */
  static void check(byte[] data, int from, Schema schema) throws RecordFault {
    AvroBounds walk = new AvroBounds(data, from);
    walk.value(schema);
    if (walk.at < data.length) {
      throw walk.invalid("bytes are left over");
    }
  }

  private RecordFault invalid(String reason) {
    return RecordFault.invalid("not of this Avro schema: " + reason, PlainCodec.describe(data));
  }

  private void value(Schema schema) throws RecordFault {
    switch (schema.getType()) {
      case NULL -> {}
      case BOOLEAN -> skip(1);
      case INT -> {
        long number = number();
        if (number != (int) number) {
          throw invalid("an int beyond 32 bits");
        }
      }
      case LONG -> number();
      case FLOAT -> skip(Float.BYTES);
      case DOUBLE -> skip(Double.BYTES);
      case FIXED -> skip(schema.getFixedSize());
      case BYTES -> skip(length());
      case STRING -> {
        int length = length();
        skip(length);
        if (!Utf8.isValid(data, at - length, length)) {
          throw invalid("a string that is not UTF-8");
        }
      }
      case ENUM ->
          choice(schema.getEnumSymbols().size(), "an enum symbol that its schema does not have");
      case UNION -> {
        List<Schema> branches = schema.getTypes();
        value(
            branches.get(choice(branches.size(), "a union branch that its schema does not have")));
      }
      default -> nested(schema);
    }
  }

  private void nested(Schema schema) throws RecordFault {
    if (++depth > MAX_DEPTH) {
      throw RecordFault.undecidable(
          "Avro beyond the limits of the audit: more than " + MAX_DEPTH + " nested values");
    }
    switch (schema.getType()) {
      case RECORD -> {
        for (Schema.Field field : schema.getFields()) {
          value(field.schema());
        }
      }
      case ARRAY -> items(null, schema.getElementType());
      case MAP -> items(Schema.create(Schema.Type.STRING), schema.getValueType());
      default -> throw new IllegalStateException(schema.getType().getName());
    }
    depth--;
  }

  private void items(Schema key, Schema item) throws RecordFault {
    for (long count = blockCount(); count != 0; count = blockCount()) {
      for (long i = 0; i < count; i++) {
        int start = at;
        if (key != null) {
          value(key);
        }
        value(item);
        if (at == start && ++emptyItems > MAX_EMPTY_ITEMS) {
          throw RecordFault.undecidable(
              "Avro beyond the limits of the audit: more than " + MAX_EMPTY_ITEMS + " empty items");
        }
      }
    }
  }

  private long blockCount() throws RecordFault {
    long count = number();
    if (count < 0) {
      number(); // the size of the block in bytes, which is optional
      count = -count;
    }
    if (count < 0) {
      throw invalid("an invalid length");
    }
    return count;
  }

  private int choice(int choices, String reason) throws RecordFault {
    long index = number();
    if (index < 0 || index >= choices) {
      throw invalid(reason);
    }
    return (int) index;
  }

  private int length() throws RecordFault {
    long length = number();
    if (length < 0 || length > Integer.MAX_VALUE) {
      throw invalid("an invalid length");
    }
    return (int) length;
  }

  private void skip(int bytes) throws RecordFault {
    if (bytes > data.length - at) {
      throw invalid("it ends too early");
    }
    at += bytes;
  }

  /** A variable-length zig-zag integer of at most ten bytes; the tenth has one bit. */
  private long number() throws RecordFault {
    long bits = 0;
    for (int shift = 0; shift < Long.SIZE; shift += 7) {
      skip(1);
      byte next = data[at - 1];
      if (shift == Long.SIZE - 1 && next != (next & 1)) {
        throw invalid("a number beyond 64 bits");
      }
      bits |= (next & 0x7FL) << shift;
      if (next >= 0) {
        return bits >>> 1 ^ -(bits & 1);
      }
    }
    throw new IllegalStateException("the tenth byte is the last");
  }
}
