package io.topicwarden.reader.codecs;

import static io.topicwarden.reader.codecs.Faults.assertInvalid;
import static io.topicwarden.reader.codecs.Faults.assertUndecidable;
import static io.topicwarden.reader.codecs.Faults.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import io.topicwarden.reader.Json;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The JSON codec and the strict parser. */
class JsonCodecTest {
  private final JsonCodec any = JsonCodec.declared(null, Map.of(), null);

  @Test
  void halfASurrogatePairInANameIsUndecidable() throws RecordFault {
    any.check(bytes("[\"\\ud800\"]"));
    assertUndecidable(
        "a name with half of a surrogate pair", () -> any.check(bytes("{\"\\ud800\": 1}")));
    assertUndecidable(
        "a name with half of a surrogate pair", () -> any.decode(bytes("{\"\\udc00x\": 1}")));
  }

  private Object cel(String json) throws RecordFault {
    return any.toCel(any.decode(bytes(json)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"{}", " [1, 2.5e3] ", "null", "\"☃\"", "-0", "{\"a\": {\"a\": []}}"})
  void acceptsJson(String json) throws RecordFault {
    any.check(bytes(json));
    any.decode(bytes(json));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"{", "[1,]", "01", "'a'", "NaN", "{} {}", "{\"a\": 1,}", "\"\\x\"", "tru"})
  void refusesWhatIsNotJson(String json) {
    assertInvalid("not JSON", () -> any.check(bytes(json)));
    assertInvalid("not JSON", () -> any.decode(bytes(json)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"{}", "[]", "{", "", "{} {}", "\u0000", "1e9999", "[1e-9999]"})
  void dataThatAnotherCodecHasParsedIsJudgedTheSame(String json) {
    LastJson last = new LastJson();
    JsonCodec alike = JsonCodec.declared(null, Map.of(), last);
    JsonCodec object = JsonCodec.declared("{\"type\": \"object\"}", Map.of(), null);
    JsonCodec objectAlike = JsonCodec.declared("{\"type\": \"object\"}", Map.of(), last);
    byte[] data = bytes(json);
    for (int round = 0; round < 2; round++) {
      assertEquals(reason(() -> any.check(data)), reason(() -> alike.check(data)));
      assertEquals(reason(() -> object.check(data)), reason(() -> objectAlike.check(data)));
      assertEquals(reason(() -> any.decode(data)), reason(() -> alike.decode(data)));
    }
  }

  private static String reason(Executable decoding) {
    try {
      decoding.execute();
      return null;
    } catch (RecordFault fault) {
      return fault.getMessage() + fault.undecidable;
    } catch (Throwable error) {
      throw new AssertionError(error);
    }
  }

  @Test
  void refusesOtherEncodings() {
    assertInvalid(
        "not JSON: begins with a byte order mark",
        () -> any.check(bytes(0xef, 0xbb, 0xbf, '{', '}')));
    assertInvalid(
        "not JSON: in UTF-16 or UTF-32, expected UTF-8", () -> any.check(bytes('{', 0, '}', 0)));
    assertInvalid("not JSON: not UTF-8", () -> any.check(bytes('"', 0xff, '"')));
    assertInvalid("not JSON: empty", () -> any.check(bytes("  ")));
    assertInvalid("not JSON: empty", () -> any.decode(bytes("")));
  }

  @Test
  void limitsApplyToTreesOnly() throws RecordFault {
    byte[] deep = bytes("[".repeat(1_001) + "]".repeat(1_001));
    any.check(deep);
    assertUndecidable(
        "JSON beyond the limits of the audit: more than 1000 nested arrays and objects",
        () -> any.decode(deep));
    byte[] digits = bytes("1".repeat(1_001));
    any.check(digits);
    assertUndecidable(
        "JSON beyond the limits of the audit: a number of more than 1000 characters",
        () -> any.decode(digits));
    byte[] exponent = bytes("1e9999");
    any.check(exponent);
    assertUndecidable(
        "JSON beyond the limits of the audit: a number with an exponent beyond 1000",
        () -> any.decode(exponent));
    byte[] broken = bytes("[".repeat(2_000));
    assertInvalid("not JSON", () -> any.decode(broken));
  }

  @Test
  void convertsForCel() throws RecordFault {
    assertEquals(
        Map.of("a", List.of(1L, 2.5, true), "b", "text"),
        cel("{\"a\": [1, 2.5, true], \"b\": \"text\"}"));
    assertEquals(null, cel("null"));
    assertEquals(1.0, cel("1.0"));
    assertEquals(0.0, cel("0e5"));
    assertEquals(0x1p64, cel("18446744073709551616"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"1e-400", "1e400", "18446744073709551617"})
  void aNumberThatADoubleWouldChangeIsUndecidable(String json) {
    assertUndecidable("a number that CEL cannot hold", () -> cel(json));
  }

  @Test
  void validatesBySchemaFromAnOffset() throws RecordFault {
    JsonCodec codec = JsonCodec.declared("{\"type\": \"object\"}", Map.of(), null);
    codec.check(bytes("{}"));
    codec.check(bytes("xx{}"), 2);
    assertInvalid("the document: expected object, got array", () -> codec.check(bytes("[]")));
    assertInvalid("the document: expected object, got array", () -> codec.decode(bytes("[]")));
  }

  @Test
  void aSchemaMustBeJson() {
    assertThrows(IllegalArgumentException.class, () -> JsonText.parseSchema("{"));
    assertThrows(IllegalArgumentException.class, () -> JsonText.parseSchema(""));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "1|1.0|true",
        "100|1e2|true",
        "0|-0.0|true",
        "1|true|false",
        "null|false|false",
        "\"1\"|1|false",
        "[1, {\"a\": 2}]|[1.0, {\"a\": 2.00}]|true",
        "[1, 2]|[2, 1]|false",
        "{\"a\": 1, \"b\": 2}|{\"b\": 2, \"a\": 1}|true",
        "9007199254740993|9007199254740992|false"
      })
  void numbersAreEqualByValueAtEveryDepth(String left, String right, boolean equal)
      throws RecordFault {
    List<Object> both =
        Arrays.asList(
            JsonEquality.comparable(JsonText.parse(bytes(left), 0)),
            JsonEquality.comparable(JsonText.parse(bytes(right), 0)));
    assertEquals(equal, both.get(0).equals(both.get(1)));
  }

  @Test
  void theSharedMapperRefusesTrailingText() throws Exception {
    JsonNode node = Json.MAPPER.readTree("{\"a\": 1}");
    assertEquals(1, node.path("a").asInt());
    assertThrows(Exception.class, () -> Json.MAPPER.readTree("{} x"));
  }
}
