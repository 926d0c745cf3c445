package io.topicwarden.reader.codecs;

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
 * <p>Whether bytes are JSON is decidable for all sizes. A tree is only built within limits: {@link
 * #MAX_DEPTH} nested arrays and objects, numbers of {@link #MAX_NUMBER_LENGTH} characters and
 * exponents up to {@link #MAX_EXPONENT}.
 */
final class JsonText {
  static final int MAX_DEPTH = 1_000;
  static final int MAX_NUMBER_LENGTH = 1_000;
  static final int MAX_EXPONENT = 1_000;

  private static final JsonFactory UNLIMITED =
      JsonFactory.builder()
          .disable(JsonFactory.Feature.FAIL_ON_SYMBOL_HASH_OVERFLOW)
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
          .streamReadConstraints(limits(Integer.MAX_VALUE, Integer.MAX_VALUE))
          .build();
  private static final ObjectMapper TREES =
      new ObjectMapper(
              JsonFactory.builder()
                  .disable(
                      JsonFactory.Feature
                          .INTERN_FIELD_NAMES) // records may have any number of names
                  .streamReadConstraints(limits(MAX_DEPTH, MAX_NUMBER_LENGTH))
                  .build())
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .setNodeFactory(new ExactNumbers());

  private JsonText() {}

  private static StreamReadConstraints limits(int depth, int digits) {
    return StreamReadConstraints.builder()
        .maxNestingDepth(depth)
        .maxNumberLength(digits)
        .maxNameLength(Integer.MAX_VALUE)
        .maxStringLength(Integer.MAX_VALUE)
        .build();
  }

  /** Decimal numbers without rounding, except for those whose digits would fill the memory. */
  private static final class ExactNumbers extends JsonNodeFactory {
    private static final long serialVersionUID = 1;

    @Override
    public ValueNode numberNode(BigDecimal value) {
      if (value != null && Math.abs((long) value.scale()) > MAX_EXPONENT + MAX_NUMBER_LENGTH) {
        throw new ArithmeticException("exponent");
      }
      return super.numberNode(value);
    }
  }

  /** Parses a schema; throws {@link IllegalArgumentException} if the text is not JSON. */
  static JsonNode parseSchema(String text) {
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

  /**
   * Parses the bytes from {@code from}; throws if they are not JSON. JSON beyond the limits is
   * undecidable.
   */
  static JsonNode parse(byte[] data, int from) throws RecordFault {
    requireUtf8(data, from);
    JsonNode node;
    try {
      node = TREES.readTree(data, from, data.length - from);
    } catch (IOException
        | ArithmeticException
        | NumberFormatException
        | IllegalStateException error) {
      scan(data, from);
      throw RecordFault.undecidable("JSON beyond the limits of the audit: " + limit(error));
    }
    if (node.isMissingNode()) {
      throw empty(data);
    }
    return node;
  }

  private static String limit(Exception error) {
    String message = String.valueOf(error.getMessage());
    if (message.startsWith("Document nesting depth")) {
      return "more than " + MAX_DEPTH + " nested arrays and objects";
    }
    return message.startsWith("Number value length")
        ? "a number of more than " + MAX_NUMBER_LENGTH + " characters"
        : error instanceof IllegalStateException
            ? "too many names of the same hash"
            : "a number with an exponent beyond " + MAX_EXPONENT;
  }

  /** Throws unless the bytes from {@code from} are JSON. */
  static void check(byte[] data, int from) throws RecordFault {
    requireUtf8(data, from);
    scan(data, from);
  }

  /** Reads every token. Needs no limits, because no token is kept and no number is converted. */
  private static void scan(byte[] data, int from) throws RecordFault {
    try (JsonParser parser = UNLIMITED.createParser(data, from, data.length - from)) {
      if (parser.nextToken() == null) {
        throw empty(data);
      }
      parser.skipChildren();
      if (parser.nextToken() != null) {
        throw RecordFault.invalid("not JSON", PlainCodec.describe(data) + ", more than one value");
      }
    } catch (JsonProcessingException error) {
      if (error.getOriginalMessage().contains("surrogate")) { // RFC 8259, 8.2 allows it
        throw RecordFault.undecidable("a name with half of a surrogate pair");
      }
      String position =
          error.getLocation() == null
              ? ""
              : ", wrong at byte " + error.getLocation().getByteOffset();
      throw RecordFault.invalid("not JSON", PlainCodec.describe(data) + position);
    } catch (IOException error) {
      throw RecordFault.invalid("not JSON", PlainCodec.describe(data));
    }
  }

  private static RecordFault empty(byte[] data) {
    return RecordFault.invalid("not JSON: empty", PlainCodec.describe(data));
  }

  /** Jackson guesses the encoding from the first bytes, and accepts some invalid UTF-8. */
  private static void requireUtf8(byte[] data, int from) throws RecordFault {
    if (data.length - from >= 3
        && (data[from] & 0xFF) == 0xEF
        && (data[from + 1] & 0xFF) == 0xBB
        && (data[from + 2] & 0xFF) == 0xBF) {
      throw RecordFault.invalid(
          "not JSON: begins with a byte order mark", PlainCodec.describe(data));
    }
    for (int at = from; at < Math.min(data.length, from + 4); at++) {
      if (data[at] == 0) {
        throw RecordFault.invalid(
            "not JSON: in UTF-16 or UTF-32, expected UTF-8", PlainCodec.describe(data));
      }
    }
    if (!Utf8.isValid(data, from)) {
      throw RecordFault.invalid("not JSON: not UTF-8", PlainCodec.describe(data));
    }
  }
}
