package topicwarden;

import java.util.List;
import org.apache.avro.Schema;

/**
 * Walks over Avro's binary encoding before Avro's own reader allocates what a length claims.
 *
 * <p>Bounded: {@link #MOST_DEPTH} nested values, and {@link #MOST_EMPTY} items that take no bytes, of which ten bytes
 * may declare 2^63.
 */
final class AvroBounds {
  static final int MOST_DEPTH = 500;
  static final int MOST_EMPTY = 1_000_000;

  private final byte[] data;
  private int at;
  private int depth;
  private long empty;

  private AvroBounds(byte[] data, int from) {
    this.data = data;
    this.at = from;
  }

  /** Throws unless the bytes from {@code from} are one value of {@code schema}; undecided if it is beyond the bounds. */
  static void check(byte[] data, int from, Schema schema) throws Malformed {
    AvroBounds walk = new AvroBounds(data, from);
    walk.value(schema);
    if (walk.at < data.length) {
      throw walk.wrong("bytes are left over");
    }
  }

  private Malformed wrong(String why) {
    return Malformed.because("not of this Avro schema: " + why, PlainCodec.shape(data));
  }

  private void value(Schema schema) throws Malformed {
    switch (schema.getType()) {
      case NULL -> { }
      case BOOLEAN -> skip(1);
      case INT -> {
        long number = number();
        if (number != (int) number) {
          throw wrong("an int beyond 32 bits");
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
        if (!Utf8.valid(data, at - length, length)) {
          throw wrong("a string that is not UTF-8");
        }
      }
      case ENUM -> choice(schema.getEnumSymbols().size(), "an enum symbol that its schema does not have");
      case UNION -> {
        List<Schema> branches = schema.getTypes();
        value(branches.get(choice(branches.size(), "a union branch that its schema does not have")));
      }
      default -> nested(schema);
    }
  }

  private void nested(Schema schema) throws Malformed {
    if (++depth > MOST_DEPTH) {
      throw Malformed.unknown("Avro beyond the limits of the audit: more than " + MOST_DEPTH + " nested values");
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

  private void items(Schema key, Schema item) throws Malformed {
    for (long count = blockCount(); count != 0; count = blockCount()) {
      for (long done = 0; done < count; done++) {
        int start = at;
        if (key != null) {
          value(key);
        }
        value(item);
        if (at == start && ++empty > MOST_EMPTY) {
          throw Malformed.unknown("Avro beyond the limits of the audit: more than " + MOST_EMPTY + " empty items");
        }
      }
    }
  }

  private long blockCount() throws Malformed {
    long count = number();
    if (count < 0) {
      number(); // the bytes of the block
      count = -count;
    }
    if (count < 0) {
      throw wrong("a length that cannot be");
    }
    return count;
  }

  private int choice(int choices, String otherwise) throws Malformed {
    long index = number();
    if (index < 0 || index >= choices) {
      throw wrong(otherwise);
    }
    return (int) index;
  }

  private int length() throws Malformed {
    long length = number();
    if (length < 0 || length > Integer.MAX_VALUE) {
      throw wrong("a length that cannot be");
    }
    return (int) length;
  }

  private void skip(int bytes) throws Malformed {
    if (bytes > data.length - at) {
      throw wrong("it ends too early");
    }
    at += bytes;
  }

  /** A variable-length zig-zag integer of at most ten bytes, the last of which has one bit. */
  private long number() throws Malformed {
    long bits = 0;
    for (int shift = 0; shift < Long.SIZE; shift += 7) {
      skip(1);
      byte next = data[at - 1];
      if (shift == Long.SIZE - 1 && next != (next & 1)) {
        throw wrong("a number beyond 64 bits");
      }
      bits |= (next & 0x7FL) << shift;
      if (next >= 0) {
        return bits >>> 1 ^ -(bits & 1);
      }
    }
    throw new IllegalStateException("the tenth byte is the last");
  }
}
