package io.topicwarden.reader.codecs;

import static io.topicwarden.reader.codecs.Faults.assertInvalid;
import static io.topicwarden.reader.codecs.Faults.assertUndecidable;
import static io.topicwarden.reader.codecs.Faults.bytes;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.networknt.schema.SpecificationVersion;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The validator and its dialects. The public suite of JSON Schema runs in {@code tests/codecs}. */
class JsonSchemaValidatorTest {
  private static final String ORDER =
      """
      {"type": "object", "required": ["id"], "additionalProperties": false,
       "properties": {"id": {"type": "integer"}, "note": {"maxLength": 3},
                      "lines": {"items": {"type": ["string", "null"]}}}}
      """;

  private static void validate(String schema, String json) throws RecordFault {
    new JsonSchemaValidator(schema, Map.of(), SpecificationVersion.DRAFT_2020_12)
        .validate(JsonText.parse(bytes(json), 0));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "[]|the document: expected object, got array",
        "{\"id\": \"x\"}|/id: expected integer, got string",
        "{\"id\": 1.5}|/id: expected integer, got number",
        "{}|the document: missing id",
        "{\"id\": 1, \"x\": 2}|the document: has a property that is not in the schema",
        "{\"id\": 1, \"note\": \"long\"}|/note: breaks maxLength",
        "{\"id\": 1, \"lines\": [\"\", 4]}|/lines/*: expected [\"string\",\"null\"], got integer"
      })
  void namesTheFirstErrorWithoutValues(String json, String reason) {
    assertInvalid(reason, () -> validate(ORDER, json));
  }

  @Test
  void theOutlineHoldsDeclaredNamesOnly() {
    RecordFault fault =
        assertThrows(
            RecordFault.class, () -> validate(ORDER, "{\"secret\": \"s\", \"note\": null}"));
    assertEquals("{*: string, note: null}", fault.excerpt);
    StringBuilder wide = new StringBuilder("{\"id\": 0");
    for (int i = 0; i < 20; i++) {
      wide.append(", \"x").append(i).append("\": 0");
    }
    fault = assertThrows(RecordFault.class, () -> validate(ORDER, wide + "}"));
    assertEquals(13, fault.excerpt.split(", ", -1).length);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"const\": 1}|1.0",
        "{\"enum\": [[1]]}|[1.0]",
        "{\"multipleOf\": 0.01}|19.99",
        "{\"format\": \"email\"}|\"none\"",
        "{\"$schema\": \"http://json-schema.org/draft-07/schema#\", "
            + "\"contains\": {\"const\": 1}, \"minContains\": 2}|[1]",
        "{\"minContains\": 0, \"contains\": {\"const\": 1}}|[]",
        "{\"dependencies\": {\"a\": [\"b\"]}}|{\"a\": 1}", // no keyword of this draft
        "{\"$schema\": \"https://json-schema.org/draft/2019-09/schema\", "
            + "\"dependencies\": {\"a\": [\"b\"]}}|{\"a\": 1}",
        "{\"$schema\": \"http://json-schema.org/draft-07/schema#\", "
            + "\"contentEncoding\": \"base64\", \"contentMediaType\": \"application/json\"}|\"%\"",
        "{\"id\": \"orders\", \"type\": \"object\"}|{}",
        "{\"notAllowed\": [\"a\"]}|{\"a\": 1}",
        "{\"propertyDependencies\": {\"a\": {\"b\": false}}}|{\"a\": \"b\"}",
        "{\"$schema\": \"http://json-schema.org/draft-07/schema#\", \"id\": \"orders\"}|{}"
      })
  void accepts(String schema, String json) throws RecordFault {
    validate(schema, json);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"const\": 9007199254740993}|9007199254740992|const",
        "{\"uniqueItems\": true}|[[1], [1.0]]|uniqueItems",
        "{\"multipleOf\": 0.01}|19.999|multipleOf",
        "{\"enum\": [1, \"a\"]}|true|enum",
        "{\"$schema\": \"http://json-schema.org/draft-06/schema#\", "
            + "\"contains\": {\"const\": 1}}|[2]|contains",
        "{\"minContains\": 2, \"contains\": {\"const\": 1}}|[1]|minContains",
        "{\"$schema\": \"http://json-schema.org/draft-07/schema#\", "
            + "\"dependencies\": {\"a\": [\"b\"]}}|{\"a\": 1}|dependencies"
      })
  void refuses(String schema, String json, String keyword) {
    assertInvalid("the document: breaks " + keyword, () -> validate(schema, json));
  }

  @Test
  void resolvesReferencesButNothingElse() throws RecordFault {
    String schema = "{\"$ref\": \"https://example.org/other\"}";
    JsonSchemaValidator validator =
        new JsonSchemaValidator(
            schema,
            Map.of("https://example.org/other", "{\"type\": \"string\"}"),
            SpecificationVersion.DRAFT_2020_12);
    validator.validate(JsonText.parse(bytes("\"x\""), 0));
    assertThrows(
        RuntimeException.class,
        () -> new JsonSchemaValidator(schema, Map.of(), SpecificationVersion.DRAFT_2020_12));
  }

  @ParameterizedTest
  @ValueSource(strings = {"{\"pattern\": \"(\"}", "{\"$ref\": \"file:///etc/passwd\"}", "{"})
  void aSchemaThatCannotBeUsedIsRefused(String schema) {
    assertThrows(
        RuntimeException.class,
        () -> new JsonSchemaValidator(schema, Map.of(), SpecificationVersion.DRAFT_2020_12));
  }

  @Test
  void aPatternThatBacktracksForeverIsUndecidable() {
    assertUndecidable(
        "a regular expression took more than 10000000 steps",
        () -> validate("{\"pattern\": \"^(a+)+\\\\1b$\"}", '"' + "a".repeat(40) + '"'));
  }
}
