package topicwarden;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ValueNode;
import java.io.IOException;
import java.math.BigDecimal;

/**
 * JSON as RFC 8259 defines it for exchange: one value, in UTF-8, without a byte order mark.
 *
 * <p>Whether bytes are JSON is always decided. A tree of them is only built within limits: {@link #MOST_DEPTH} nested
 * arrays and objects, numbers of {@link #MOST_DIGITS} characters and exponents up to {@link #MOST_EXPONENT}.
 */
final class JsonText {
  static final int MOST_DEPTH = 1_000;
  static final int MOST_DIGITS = 1_000;
  static final int MOST_EXPONENT = 1_000;

  private static final JsonFactory UNLIMITED = JsonFactory.builder()
      .disable(JsonFactory.Feature.FAIL_ON_SYMBOL_HASH_OVERFLOW)
      .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
      .streamReadConstraints(limits(Integer.MAX_VALUE, Integer.MAX_VALUE))
      .build();
  private static final ObjectMapper TREES = new ObjectMapper(JsonFactory.builder()
      .disable(JsonFactory.Feature.INTERN_FIELD_NAMES) // names of records are not constants of this program
      .streamReadConstraints(limits(MOST_DEPTH, MOST_DIGITS))
      .build())
      .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
      .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
      .setNodeFactory(new Exact());

  private JsonText() {}

  private static StreamReadConstraints limits(int depth, int digits) {
    return StreamReadConstraints.builder()
        .maxNestingDepth(depth)
        .maxNumberLength(digits)
        .maxNameLength(Integer.MAX_VALUE)
        .maxStringLength(Integer.MAX_VALUE)
        .build();
  }

  /** Decimal numbers without rounding, and none whose plain digits would fill the memory. */
  private static final class Exact extends JsonNodeFactory {
    private static final long serialVersionUID = 1;

    @Override
    public ValueNode numberNode(BigDecimal value) {
      if (value != null && Math.abs((long) value.scale()) > MOST_EXPONENT + MOST_DIGITS) {
        throw new ArithmeticException("exponent");
      }
      return super.numberNode(value);
    }
  }

  /** Returns the tree of a schema; throws {@link IllegalArgumentException} if there is none. */
  static JsonNode trusted(String text) {
    try {
      JsonNode node = TREES.readTree(text);
      if (!node.isMissingNode()) {
        return node;
      }
    } catch (IOException | ArithmeticException error) {
      throw new IllegalArgumentException("not JSON within the limits", error);
    }
    throw new IllegalArgumentException("not JSON: empty");
  }

  /** Returns the tree of the JSON from byte {@code from}; throws if it is not JSON, or undecided if it is beyond limits. */
  static JsonNode tree(byte[] data, int from) throws Malformed {
    requireUtf8(data, from);
    JsonNode node;
    try {
      node = TREES.readTree(data, from, data.length - from);
    } catch (IOException | ArithmeticException | NumberFormatException | IllegalStateException error) {
      scan(data, from);
      throw Malformed.unknown("JSON beyond the limits of the audit: " + limit(error));
    }
    if (node.isMissingNode()) {
      throw empty(data);
    }
    return node;
  }

  private static String limit(Exception error) {
    String message = String.valueOf(error.getMessage());
    if (message.startsWith("Document nesting depth")) {
      return "more than " + MOST_DEPTH + " nested arrays and objects";
    }
    return message.startsWith("Number value length") ? "a number of more than " + MOST_DIGITS + " characters"
        : error instanceof IllegalStateException ? "too many names of the same hash"
        : "a number with an exponent beyond " + MOST_EXPONENT;
  }

  /** Throws unless the bytes from {@code from} are JSON. */
  static void check(byte[] data, int from) throws Malformed {
    requireUtf8(data, from);
    scan(data, from);
  }

  /** Reads every token. Neither depth nor length matters, as nothing is kept and no number is converted. */
  private static void scan(byte[] data, int from) throws Malformed {
    try (JsonParser parser = UNLIMITED.createParser(data, from, data.length - from)) {
      if (parser.nextToken() == null) {
        throw empty(data);
      }
      parser.skipChildren();
      if (parser.nextToken() != null) {
        throw Malformed.because("not JSON", PlainCodec.shape(data) + ", more than one value");
      }
    } catch (JsonProcessingException error) {
      String place = error.getLocation() == null ? "" : ", wrong at byte " + error.getLocation().getByteOffset();
      throw Malformed.because("not JSON", PlainCodec.shape(data) + place);
    } catch (IOException error) {
      throw Malformed.because("not JSON", PlainCodec.shape(data));
    }
  }

  private static Malformed empty(byte[] data) {
    return Malformed.because("not JSON: empty", PlainCodec.shape(data));
  }

  /** Jackson guesses the encoding from the first bytes, and accepts overlong forms and code points beyond Unicode. */
  private static void requireUtf8(byte[] data, int from) throws Malformed {
    if (data.length - from >= 3 && (data[from] & 0xFF) == 0xEF && (data[from + 1] & 0xFF) == 0xBB
        && (data[from + 2] & 0xFF) == 0xBF) {
      throw Malformed.because("not JSON: begins with a byte order mark", PlainCodec.shape(data));
    }
    for (int at = from; at < Math.min(data.length, from + 4); at++) {
      if (data[at] == 0) {
        throw Malformed.because("not JSON: in UTF-16 or UTF-32, expected UTF-8", PlainCodec.shape(data));
      }
    }
    if (!Utf8.valid(data, from)) {
      throw Malformed.because("not JSON: not UTF-8", PlainCodec.shape(data));
    }
  }
}
