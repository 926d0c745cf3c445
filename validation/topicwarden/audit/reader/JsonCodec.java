package topicwarden;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.JsonNodeType;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SchemaValidatorsConfig;
import com.networknt.schema.SpecVersion.VersionFlag;
import com.networknt.schema.SpecVersionDetector;
import com.networknt.schema.ValidationMessage;
import com.networknt.schema.resource.InputStreamSource;
import com.networknt.schema.resource.SchemaLoader;
import java.io.IOException;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;

/** JSON, with a JSON Schema where one is declared. */
final class JsonCodec implements Codec {
  private static final int MOST_NAMES = 12;
  private static final TypeReference<Object> ANY = new TypeReference<>() {};

  private final Validated schema;

  private JsonCodec(Validated schema) {
    this.schema = schema;
  }

  static JsonCodec of(String text) {
    return new JsonCodec(text == null ? null : new Validated(text));
  }

  @Override
  public JsonNode read(byte[] data) throws Malformed {
    return read(data, 0);
  }

  JsonNode read(byte[] data, int from) throws Malformed {
    JsonNode node;
    try {
      node = Json.MAPPER.readTree(data, from, data.length - from);
    } catch (JsonProcessingException error) {
      throw Malformed.because("not JSON", PlainCodec.shape(data) + ", wrong at byte " + error.getLocation().getByteOffset());
    } catch (IOException error) {
      throw Malformed.because("not JSON", PlainCodec.shape(data));
    }
    if (node.isMissingNode()) {
      throw Malformed.because("not JSON: empty", PlainCodec.shape(data));
    }
    if (schema != null) {
      schema.require(node);
    }
    return node;
  }

  @Override
  public Object plain(Object read) {
    return Wide.of(Json.MAPPER.convertValue((JsonNode) read, ANY));
  }

  /** A schema, and the names it gives, which alone may be told of a record. */
  private static final class Validated {
    private final JsonSchema schema;
    private final Set<String> names = new HashSet<>();

    Validated(String text) {
      JsonNode node;
      try {
        node = Json.MAPPER.readTree(text);
      } catch (JsonProcessingException error) {
        throw new IllegalArgumentException("the schema is not JSON", error);
      }
      VersionFlag version = SpecVersionDetector.detectOptionalVersion(node, false).orElse(VersionFlag.V202012);
      SchemaLoader nothingElse = uri -> (InputStreamSource) () -> {
        throw new IOException(uri + " is outside of the schema, and not fetched");
      };
      JsonSchemaFactory factory = JsonSchemaFactory.getInstance(
          version, builder -> builder.schemaLoaders(loaders -> loaders.values(held -> held.clear()).add(nothingElse)));
      SchemaValidatorsConfig config = SchemaValidatorsConfig.builder().locale(Locale.ROOT).build();
      schema = factory.getSchema(node, config);
      schema.initializeValidators();
      collect(node);
    }

    private void collect(JsonNode node) {
      node.path("properties").fieldNames().forEachRemaining(names::add);
      node.path("required").forEach(name -> names.add(name.asText()));
      node.forEach(this::collect);
    }

    void require(JsonNode node) throws Malformed {
      Iterator<ValidationMessage> wrong = schema.validate(node).iterator();
      if (wrong.hasNext()) {
        throw Malformed.because(said(wrong.next()), shape(node));
      }
    }

    private String said(ValidationMessage message) {
      StringBuilder place = new StringBuilder();
      for (int at = 0; at < message.getInstanceLocation().getNameCount(); at++) {
        Object name = message.getInstanceLocation().getName(at);
        place.append('/').append(name instanceof String text && names.contains(text) ? text : "*");
      }
      String where = place.isEmpty() ? "the whole" : place.toString();
      return switch (message.getType()) {
        case "type" -> where + ": expected " + expected(message) + ", seen " + kind(message.getInstanceNode());
        case "required" -> where + ": lacks " + message.getProperty();
        case "additionalProperties", "unevaluatedProperties" -> where + ": has a property that is not in the schema";
        default -> where + ": breaks " + message.getType();
      };
    }

    private static String expected(ValidationMessage message) {
      JsonNode wanted = message.getSchemaNode();
      return wanted == null ? "another type" : wanted.isTextual() ? wanted.asText() : wanted.toString();
    }

    /** The record's outline: names that the schema gives, and kinds of values. */
    private String shape(JsonNode node) {
      if (!node.isObject()) {
        return kind(node);
      }
      StringJoiner parts = new StringJoiner(", ", "{", "}");
      int told = 0;
      for (Map.Entry<String, JsonNode> field : node.properties()) {
        if (++told > MOST_NAMES) {
          parts.add("…");
          break;
        }
        parts.add((names.contains(field.getKey()) ? field.getKey() : "*") + ": " + kind(field.getValue()));
      }
      return parts.toString();
    }
  }

  private static String kind(JsonNode node) {
    if (node == null) {
      return "nothing";
    }
    return node.getNodeType() == JsonNodeType.NUMBER && node.isIntegralNumber()
        ? "integer" : node.getNodeType().name().toLowerCase(Locale.ROOT);
  }
}
