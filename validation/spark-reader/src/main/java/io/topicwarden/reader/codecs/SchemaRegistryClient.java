package io.topicwarden.reader.codecs;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.topicwarden.reader.Json;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.config.SslConfigs;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory;

/**
 * A client of Confluent's Schema Registry REST API. Fetches each schema once, also if that fails.
 * After a connection error, no further request is sent. Used by one thread.
 */
final class SchemaRegistryClient {
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  /**
   * A registered schema.
   *
   * @param references the texts of the schemas that it refers to, by reference name, in dependency
   *     order
   */
  record Schema(String type, String text, Map<String, String> references, Set<String> subjects) {}

  private final HttpClient client;
  private final String url;
  private final String authorization;
  private final Map<Integer, Object> schemas = new HashMap<>(); // schemas, or the faults instead
  private RecordFault connectionFault;

  /**
   * Creates a client.
   *
   * @param settings {@code url}; {@code username} and {@code password}, or {@code token}; and
   *     Kafka's settings for TLS, such as {@code ssl.truststore.certificates}
   */
  SchemaRegistryClient(JsonNode settings) {
    url = settings.path("url").asText().replaceAll("/+$", "");
    authorization = authorization(settings);
    HttpClient.Builder builder = HttpClient.newBuilder().connectTimeout(TIMEOUT);
    Map<String, Object> tls = new HashMap<>();
    settings
        .fields()
        .forEachRemaining(
            setting -> {
              if (setting.getKey().startsWith("ssl.")) {
                tls.put(setting.getKey(), tlsValue(setting.getKey(), setting.getValue().asText()));
              }
            });
    if (!tls.isEmpty()) {
      tls.put(SslConfigs.SSL_PROTOCOL_CONFIG, SslConfigs.DEFAULT_SSL_PROTOCOL);
      try (DefaultSslEngineFactory factory = new DefaultSslEngineFactory()) {
        factory.configure(tls);
        builder.sslContext(factory.sslContext());
      }
    }
    client = builder.build();
  }

  private static Object tlsValue(String name, String value) {
    return name.endsWith(".type") ? value : new Password(value);
  }

  private static String authorization(JsonNode settings) {
    if (settings.hasNonNull("token")) {
      return "Bearer " + settings.path("token").asText();
    }
    if (!settings.hasNonNull("username")) {
      return null;
    }
    String credentials =
        settings.path("username").asText() + ":" + settings.path("password").asText();
    return "Basic "
        + Base64.getEncoder().encodeToString(credentials.getBytes(StandardCharsets.UTF_8));
  }

  /** Returns the schema with an id. A schema that cannot be fetched is a fault of the record. */
  Schema schema(int id) throws RecordFault {
    Object cached = schemas.get(id);
    if (cached == null) {
      try {
        cached = fetch(id);
      } catch (RecordFault fault) {
        cached = fault;
      }
      schemas.put(id, cached);
    }
    if (cached instanceof RecordFault fault) {
      throw fault;
    }
    return (Schema) cached;
  }

  private Schema fetch(int id) throws RecordFault {
    JsonNode schema = get("/schemas/ids/" + id, "schema id that the registry does not know");
    Set<String> subjects = new HashSet<>();
    JsonNode versions = get("/schemas/ids/" + id + "/versions", "schema id without a subject");
    versions.forEach(version -> subjects.add(version.path("subject").asText()));
    Map<String, String> references = new LinkedHashMap<>();
    fetchReferences(schema, references);
    return new Schema(
        schema.path("schemaType").asText("AVRO"),
        schema.path("schema").asText(),
        references,
        subjects);
  }

  private void fetchReferences(JsonNode schema, Map<String, String> texts) throws RecordFault {
    for (JsonNode reference : schema.path("references")) {
      String name = reference.path("name").asText();
      if (!texts.containsKey(name)) {
        String subject = pathSegment(reference.path("subject").asText());
        String version = reference.path("version").asText();
        JsonNode referenced =
            get("/subjects/" + subject + "/versions/" + version, "a dangling reference");
        fetchReferences(referenced, texts);
        texts.put(name, referenced.path("schema").asText());
      }
    }
  }

  private static String pathSegment(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  /**
   * Returns the JSON at a path.
   *
   * @param notFoundReason the reason of the fault if the registry answers 404
   */
  private JsonNode get(String path, String notFoundReason) throws RecordFault {
    if (connectionFault != null) {
      throw connectionFault;
    }
    try {
      HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path)).timeout(TIMEOUT);
      request.header("Accept", "application/vnd.schemaregistry.v1+json, application/json");
      if (authorization != null) {
        request.header("Authorization", authorization);
      }
      HttpResponse<String> response =
          client.send(request.build(), HttpResponse.BodyHandlers.ofString());
      if (response.statusCode() == 404) {
        throw RecordFault.invalid(notFoundReason, "");
      }
      if (response.statusCode() != 200) {
        throw RecordFault.undecidable("the Schema Registry answered " + response.statusCode());
      }
      return Json.MAPPER.readTree(response.body());
    } catch (JsonProcessingException error) { // other requests may still succeed
      throw RecordFault.undecidable("the Schema Registry's answer is not JSON");
    } catch (IOException | IllegalArgumentException error) {
      connectionFault =
          RecordFault.undecidable(
              "the Schema Registry cannot be reached: " + error.getClass().getSimpleName());
      throw connectionFault;
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw RecordFault.undecidable("the audit was interrupted");
    }
  }
}
