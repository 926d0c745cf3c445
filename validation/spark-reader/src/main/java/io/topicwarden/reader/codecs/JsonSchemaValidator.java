package io.topicwarden.reader.codecs;

import com.fasterxml.jackson.databind.JsonNode;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaException;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SchemaRegistryConfig;
import com.networknt.schema.SpecificationVersion;
import com.networknt.schema.regex.RegularExpression;
import java.net.URI;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.regex.Pattern;

/**
 * A JSON Schema of draft 4, 6, 7, 2019-09 or 2020-12. {@code format} is an annotation in every
 * draft. Only the given references and the meta-schemas of the drafts are resolved.
 */
final class JsonSchemaValidator {
  private static final int MAX_SHOWN_NAMES = 12;
  private static final Pattern META_SCHEMA =
      Pattern.compile(
          "https?://json-schema\\.org/(draft-0[467]/(hyper-)?schema|draft/20(19-09|20-12)/(schema|meta/[a-z-]+))");
  private static final SchemaLocation ROOT = SchemaLocation.of("topicwarden:/schema");

  private final Schema schema;
  private final Set<String> declaredNames = new HashSet<>();

  /**
   * Compiles a schema; throws a RuntimeException if the schema cannot be used.
   *
   * @param references the texts of other schemas, by URI; a relative one is resolved as a {@code
   *     $ref} at the root of the schema
   * @param defaultDraft the draft of schemas that name none
   */
  JsonSchemaValidator(
      String text, Map<String, String> references, SpecificationVersion defaultDraft) {
    JsonNode node = JsonText.parseSchema(text);
    Map<String, String> schemas = resolved(references, node);
    SchemaRegistryConfig config =
        SchemaRegistryConfig.builder()
            .locale(Locale.ROOT)
            .formatAssertionsEnabled(false)
            .regularExpressionFactory(JsonSchemaValidator::pattern)
            .build();
    SchemaRegistry registry =
        JsonSchemaDialects.registry(
            defaultDraft,
            builder ->
                builder
                    .schemaRegistryConfig(config)
                    .schemas(schemas)
                    .schemaLoader(
                        loader ->
                            loader.allow(
                                uri ->
                                    schemas.containsKey(uri.toString())
                                        || META_SCHEMA.matcher(uri.toString()).matches())));
    schema = registry.getSchema(ROOT, node);
    schema.initializeValidators();
    collectNames(node);
  }

  /**
   * Returns references with the URIs to which the library resolves a {@code $ref} to them: against
   * the URI of the root, as Confluent's registry does. Draft 4 has it in {@code id}.
   */
  private static Map<String, String> resolved(Map<String, String> references, JsonNode root) {
    Map<String, String> resolved = new HashMap<>(references);
    for (String id : List.of(root.path("$id").asText(), root.path("id").asText())) {
      references.forEach(
          (name, text) -> {
            try {
              URI base = URI.create(ROOT.toString()).resolve(id);
              resolved.putIfAbsent(base.resolve(name).toString(), text);
            } catch (IllegalArgumentException noUri) {
              // No reference can lead there.
            }
          });
    }
    return resolved;
  }

  /** The library logs every exception of a validation, except for its own SchemaException. */
  private static final class PatternTooCostly extends SchemaException {
    private static final long serialVersionUID = 1;

    PatternTooCostly(String message) {
      super(message);
    }
  }

  private static RegularExpression pattern(String text) {
    Pattern pattern = EcmaPattern.compile(text);
    return value -> {
      try {
        return EcmaPattern.find(pattern, value);
      } catch (EcmaPattern.TooManyStepsException error) {
        throw new PatternTooCostly(error.getMessage());
      }
    };
  }

  private void collectNames(JsonNode node) {
    node.path("properties").fieldNames().forEachRemaining(declaredNames::add);
    node.path("required").forEach(name -> declaredNames.add(name.asText()));
    node.forEach(this::collectNames);
  }

  /** Throws unless {@code node} is valid. */
  void validate(JsonNode node) throws RecordFault {
    List<com.networknt.schema.Error> errors;
    try {
      errors = schema.validate(node);
    } catch (PatternTooCostly error) {
      throw RecordFault.undecidable(error.getMessage());
    }
    if (!errors.isEmpty()) {
      throw RecordFault.invalid(reason(errors.get(0)), outline(node));
    }
  }

  private String reason(com.networknt.schema.Error error) {
    StringBuilder path = new StringBuilder();
    for (int i = 0; i < error.getInstanceLocation().getNameCount(); i++) {
      Object name = error.getInstanceLocation().getElement(i);
      path.append('/')
          .append(name instanceof String text && declaredNames.contains(text) ? text : "*");
    }
    String where = path.isEmpty() ? "the document" : path.toString();
    return switch (error.getKeyword()) {
      case "type" ->
          where + ": expected " + expected(error) + ", got " + kind(error.getInstanceNode());
      case "required" -> where + ": missing " + error.getProperty();
      case "additionalProperties", "unevaluatedProperties" ->
          where + ": has a property that is not in the schema";
      default -> where + ": breaks " + error.getKeyword();
    };
  }

  private static String expected(com.networknt.schema.Error error) {
    JsonNode type = error.getSchemaNode();
    return type == null ? "another type" : type.isTextual() ? type.asText() : type.toString();
  }

  /** Returns the names that the schema declares and the types of all values, without the values. */
  private String outline(JsonNode node) {
    if (!node.isObject()) {
      return kind(node);
    }
    StringJoiner parts = new StringJoiner(", ", "{", "}");
    int shown = 0;
    for (Map.Entry<String, JsonNode> field : node.properties()) {
      if (++shown > MAX_SHOWN_NAMES) {
        parts.add("…");
        break;
      }
      parts.add(
          (declaredNames.contains(field.getKey()) ? field.getKey() : "*")
              + ": "
              + kind(field.getValue()));
    }
    return parts.toString();
  }

  private static String kind(JsonNode node) {
    if (node == null) {
      return "nothing";
    }
    return node.isIntegralNumber() ? "integer" : node.getNodeType().name().toLowerCase(Locale.ROOT);
  }
}
