package io.topicwarden.reader.codecs;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.List;
import org.apache.avro.Schema;

/**
 * Validates Avro's binary encoding without allocating memory. Avro's own reader allocates as much
 * as a length in the data claims.
 *
 * <p>The limits are {@link #MAX_DEPTH} nested values and {@link #MAX_EMPTY_ITEMS} items that take
 * no bytes: an array of 2^63 such items needs only ten bytes. Nested values do not take stack,
 * because how much of it is left depends on the caller and the compiler.
 *
 * <p>Not strict: accepts what Avro's own decoder accepts, such as strings that are not UTF-8 and
 * bytes after the value. That decoder skips a block of a field that it does not need by the size
 * that the block states, so another size is undecidable.
 */
final class AvroBounds {
  static final int MAX_DEPTH = 500;
  static final int MAX_EMPTY_ITEMS = 1_000_000;

  private static final int MAX_INT_BYTES = 5;

  private final byte[] data;
  private final boolean strict;
  private int at;
  private long emptyItems;
  private final Deque<Nested> entered = new ArrayDeque<>();

  private AvroBounds(byte[] data, int from, boolean strict) {
    this.data = data;
    this.strict = strict;
    this.at = from;
  }

  /**
   * Throws unless the bytes from {@code from} are one value of {@code schema}. The value is
   * undecidable beyond the limits.
   */
  static void check(byte[] data, int from, Schema schema) throws RecordFault {
    AvroBounds walk = new AvroBounds(data, from, true);
    walk.value(schema);
    if (walk.at < data.length) {
      throw walk.invalid("bytes are left over");
    }
  }

  /**
   * Throws unless Avro's own decoder can read a value of {@code schema} from {@code from} on. The
   * value is undecidable beyond the limits.
   */
  static void checkDecodable(byte[] data, int from, Schema schema) throws RecordFault {
    new AvroBounds(data, from, false).value(schema);
  }

  private RecordFault invalid(String reason) {
    return RecordFault.invalid("not of this Avro schema: " + reason, PlainCodec.describe(data));
  }

  private void value(Schema root) throws RecordFault {
    for (Schema schema = root; schema != null; schema = next(schema)) {
      switch (schema.getType()) {
        case NULL, UNION -> {}
        case BOOLEAN -> skip(1);
        case INT -> integer();
        case LONG -> number();
        case FLOAT -> skip(Float.BYTES);
        case DOUBLE -> skip(Double.BYTES);
        case FIXED -> skip(schema.getFixedSize());
        case BYTES -> skip(length());
        case STRING -> string();
        case ENUM ->
            choice(schema.getEnumSymbols().size(), "an enum symbol that its schema does not have");
        case RECORD -> enter(new Fields(schema.getFields().iterator()));
        case ARRAY -> enter(new Items(schema.getElementType(), false));
        case MAP -> enter(new Items(schema.getValueType(), true));
        default -> throw new IllegalStateException(schema.getType().getName());
      }
    }
  }

  /** Returns the schema of the value that follows in the data, or null at the end of the root. */
  private Schema next(Schema previous) throws RecordFault {
    if (previous.getType() == Schema.Type.UNION) {
      List<Schema> branches = previous.getTypes();
      return branches.get(choice(branches.size(), "a union branch that its schema does not have"));
    }
    while (!entered.isEmpty()) {
      Schema schema = entered.peek().next();
      if (schema != null) {
        return schema;
      }
      entered.pop();
    }
    return null;
  }

  private void enter(Nested nested) throws RecordFault {
    if (entered.size() == MAX_DEPTH) {
      throw RecordFault.undecidable(
          "Avro beyond the limits of the audit: more than " + MAX_DEPTH + " nested values");
    }
    entered.push(nested);
  }

  /** A record, an array or a map whose values are being read. */
  private interface Nested {
    /** Returns the schema of its next value, or null at its end. */
    Schema next() throws RecordFault;
  }

  private record Fields(Iterator<Schema.Field> fields) implements Nested {
    @Override
    public Schema next() {
      return fields.hasNext() ? fields.next().schema() : null;
    }
  }

  private final class Items implements Nested {
    private final Schema item;
    private final boolean keyed;
    private long leftInBlock;
    private int itemStart = -1;
    private long blockEnd = -1;

    Items(Schema item, boolean keyed) {
      this.item = item;
      this.keyed = keyed;
    }

    @Override
    public Schema next() throws RecordFault {
      if (at == itemStart && ++emptyItems > MAX_EMPTY_ITEMS) {
        throw RecordFault.undecidable(
            "Avro beyond the limits of the audit: more than " + MAX_EMPTY_ITEMS + " empty items");
      }
      if (leftInBlock == 0) {
        if (blockEnd >= 0 && blockEnd != at && !strict) {
          throw RecordFault.undecidable("an Avro block of another size than it states");
        }
        leftInBlock = blockCount();
      }
      if (leftInBlock == 0) {
        return null;
      }
      leftInBlock--;
      itemStart = at;
      if (keyed) {
        string();
      }
      return item;
    }

    private long blockCount() throws RecordFault {
      long count = number();
      blockEnd = -1;
      if (count < 0) {
        long size = number(); // of the block in bytes
        blockEnd = size < 0 || size > data.length ? Long.MAX_VALUE : at + size;
        count = -count;
      }
      if (count < 0) {
        throw invalid("an invalid length");
      }
      return count;
    }
  }

  private void string() throws RecordFault {
    int length = length();
    skip(length);
    if (strict && !Utf8.isValid(data, at - length, length)) {
      throw invalid("a string that is not UTF-8");
    }
  }

  private int choice(int choices, String reason) throws RecordFault {
    long index = strict ? number() : integer();
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

  private int integer() throws RecordFault {
    if (strict) {
      long number = number();
      if (number != (int) number) {
        throw invalid("an int beyond 32 bits");
      }
      return (int) number;
    }
    int bits = 0;
    for (int i = 0; i < MAX_INT_BYTES; i++) {
      skip(1);
      byte next = data[at - 1];
      bits |= (next & 0x7F) << (7 * i); // drops upper bits of the fifth byte, as the decoder does
      if (next >= 0) {
        return bits >>> 1 ^ -(bits & 1);
      }
    }
    throw invalid("an int of more than " + MAX_INT_BYTES + " bytes");
  }

  /** A variable-length zig-zag integer of at most ten bytes; the tenth has one bit. */
  private long number() throws RecordFault {
    long bits = 0;
    for (int shift = 0; shift < Long.SIZE; shift += 7) {
      skip(1);
      byte next = data[at - 1];
      if (shift == Long.SIZE - 1 && (strict ? next != (next & 1) : next < 0)) {
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
