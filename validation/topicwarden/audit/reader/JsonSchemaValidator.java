package topicwarden;

import com.fasterxml.jackson.databind.JsonNode;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaException;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SchemaRegistryConfig;
import com.networknt.schema.regex.RegularExpression;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.regex.Pattern;

/**
 * A JSON Schema of draft 4, 6, 7, 2019-09 or 2020-12, the last one if it names none. {@code format} is an annotation in
 * every draft. Nothing outside of the schema is read, except for its references and the drafts' own meta-schemas.
 */
final class JsonSchemaValidator {
  private static final int MOST_NAMES = 12;
  private static final Pattern META_SCHEMA = Pattern.compile(
      "https?://json-schema\\.org/(draft-0[467]/(hyper-)?schema|draft/20(19-09|20-12)/(schema|meta/[a-z-]+))");
  private static final SchemaLocation ROOT = SchemaLocation.of("topicwarden:/schema");

  private final Schema schema;
  private final Set<String> names = new HashSet<>();

  /** {@code references}: the texts of other schemas, by the URI of each. Throws if the schema cannot be used. */
  JsonSchemaValidator(String text, Map<String, String> references) {
    JsonNode node = JsonText.trusted(text);
    SchemaRegistryConfig config = SchemaRegistryConfig.builder()
        .locale(Locale.ROOT).formatAssertionsEnabled(false).regularExpressionFactory(JsonSchemaValidator::pattern).build();
    SchemaRegistry registry = JsonSchemaRules.registry(builder -> builder
        .schemaRegistryConfig(config)
        .schemas(references)
        .schemaLoader(loader -> loader.allow(
            uri -> references.containsKey(uri.toString()) || META_SCHEMA.matcher(uri.toString()).matches())));
    schema = registry.getSchema(ROOT, node);
    schema.initializeValidators();
    collect(node);
  }

  /** An error of this class is not logged by the library for each record. */
  private static final class GivenUp extends SchemaException {
    private static final long serialVersionUID = 1;

    GivenUp(String message) {
      super(message);
    }
  }

  private static RegularExpression pattern(String text) {
    Pattern pattern = EcmaPattern.compile(text);
    return value -> {
      try {
        return EcmaPattern.found(pattern, value);
      } catch (EcmaPattern.TooManySteps error) {
        throw new GivenUp(error.getMessage());
      }
    };
  }

  private void collect(JsonNode node) {
    node.path("properties").fieldNames().forEachRemaining(names::add);
    node.path("required").forEach(name -> names.add(name.asText()));
    node.forEach(this::collect);
  }

  /** Throws unless {@code node} is valid. */
  void require(JsonNode node) throws Malformed {
    List<com.networknt.schema.Error> errors;
    try {
      errors = schema.validate(node);
    } catch (GivenUp error) {
      throw Malformed.unknown(error.getMessage());
    }
    if (!errors.isEmpty()) {
      throw Malformed.because(reason(errors.get(0)), shape(node));
    }
  }

  private String reason(com.networknt.schema.Error error) {
    StringBuilder place = new StringBuilder();
    for (int at = 0; at < error.getInstanceLocation().getNameCount(); at++) {
      Object name = error.getInstanceLocation().getElement(at);
      place.append('/').append(name instanceof String text && names.contains(text) ? text : "*");
    }
    String where = place.isEmpty() ? "the whole" : place.toString();
    return switch (error.getKeyword()) {
      case "type" -> where + ": expected " + expected(error) + ", seen " + kind(error.getInstanceNode());
      case "required" -> where + ": lacks " + error.getProperty();
      case "additionalProperties", "unevaluatedProperties" -> where + ": has a property that is not in the schema";
      default -> where + ": breaks " + error.getKeyword();
    };
  }

  private static String expected(com.networknt.schema.Error error) {
    JsonNode type = error.getSchemaNode();
    return type == null ? "another type" : type.isTextual() ? type.asText() : type.toString();
  }

  /** The record's outline: names that the schema gives, and kinds of values. */
  private String shape(JsonNode node) {
    if (!node.isObject()) {
      return kind(node);
    }
    StringJoiner parts = new StringJoiner(", ", "{", "}");
    int shown = 0;
    for (Map.Entry<String, JsonNode> field : node.properties()) {
      if (++shown > MOST_NAMES) {
        parts.add("…");
        break;
      }
      parts.add((names.contains(field.getKey()) ? field.getKey() : "*") + ": " + kind(field.getValue()));
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
