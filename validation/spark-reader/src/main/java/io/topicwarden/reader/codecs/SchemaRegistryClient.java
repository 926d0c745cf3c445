package io.topicwarden.reader.codecs;

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
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.common.config.SslConfigs;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory;

/**
 * A client of Confluent's Schema Registry REST API. Fetches each schema once, also if that fails.
 * After a connection error, or if all answers together take too long or are too large, no further
 * request is sent. Only an answer in the form of the API is a fault of a record; any other answer
 * leaves the record undecidable. Used by one thread.
 */
final class SchemaRegistryClient {
  /** For one request, from the connection to the last byte. */
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  /** For all requests of one task. */
  private static final Duration MAX_WAIT = Duration.ofMinutes(2);

  private static final int MAX_BYTES = 4 * 1024 * 1024;
  private static final int MAX_TOTAL_BYTES = 64 * 1024 * 1024;
  private static final int MAX_REFERENCES = 1_000;

  /** The type of a rule by which serializers encrypt all data after the schema id. */
  private static final String PAYLOAD = "ENCRYPT_PAYLOAD";

  /** The least {@code error_code} that the API itself gives for something that does not exist. */
  private static final int NOT_FOUND_CODES = 404_00;

  /**
   * A registered schema.
   *
   * @param references the texts of the schemas that it refers to, by reference name, in dependency
   *     order
   * @param subjects the subjects with a version that has the schema; empty if all are deleted
   * @param encryptsFields whether serializers encrypt the text of fields, by a rule of the schema
   */
  record Schema(
      String type,
      String text,
      Map<String, String> references,
      Set<String> subjects,
      boolean encryptsFields) {}

  private final HttpClient client;
  private final String url;
  private final String authorization;
  private final BuiltInProtos protos;
  private final Map<Object, Object> schemas = new HashMap<>(); // schemas, or the faults instead
  private final Map<Integer, Set<String>> deleted = new HashMap<>(); // with deleted versions
  private RecordFault connectionFault;
  private long waitedNanos;
  private long receivedBytes;

  /**
   * Creates a client.
   *
   * @param settings {@code url}; {@code username} and {@code password}, or {@code token}; Kafka's
   *     settings for TLS, such as {@code ssl.truststore.certificates}; and {@code protos}, see
   *     {@link BuiltInProtos}
   */
  SchemaRegistryClient(JsonNode settings) {
    url = settings.path("url").asText().replaceAll("/+$", "");
    authorization = authorization(settings);
    protos = new BuiltInProtos(settings.path("protos"));
    HttpClient.Builder builder = HttpClient.newBuilder().connectTimeout(TIMEOUT);
    Map<String, Object> tls = new HashMap<>();
    settings
        .properties()
        .forEach(
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

  /**
   * Returns the schema with an id in a record of one of {@code subjects}. A schema that cannot be
   * fetched is a fault of the record.
   *
   * <p>An id is one of a context of the registry. Without a subject, the registry looks in the
   * default context only; with one, as consumers ask, in the others, too.
   */
  Schema schema(int id, Collection<String> subjects) throws RecordFault {
    Schema found = null;
    RecordFault unknown = null;
    try {
      found = cached(id, () -> fetch(id, null));
      if (!Collections.disjoint(found.subjects(), subjects)) {
        return found;
      }
    } catch (RecordFault fault) {
      if (fault.undecidable) {
        throw fault;
      }
      unknown = fault;
    }
    for (String subject : subjects) {
      try {
        return cached(List.of(id, subject), () -> fetch(id, subject));
      } catch (RecordFault fault) {
        if (fault.undecidable) {
          throw fault;
        }
      }
    }
    if (found == null) {
      throw unknown;
    }
    return found;
  }

  private interface Fetch {
    Schema get() throws RecordFault;
  }

  private Schema cached(Object key, Fetch fetch) throws RecordFault {
    Object cached = schemas.get(key);
    if (cached == null) {
      requireConnection(); // not cached: records may name any number of ids
      try {
        cached = fetch.get();
      } catch (RecordFault fault) {
        cached = fault;
      }
      schemas.put(key, cached);
    }
    if (cached instanceof RecordFault fault) {
      throw fault;
    }
    return (Schema) cached;
  }

  /**
   * Returns whether a schema id is that of a version of {@code subject} that is deleted, but not
   * permanently; false if the registry does not answer about deleted versions.
   */
  boolean isDeletedVersion(int id, String subject) {
    return deleted
        .computeIfAbsent(
            id,
            each -> {
              try {
                return fetchSubjects(each, "?deleted=true");
              } catch (RecordFault fault) {
                return Set.of();
              }
            })
        .contains(subject);
  }

  /**
   * Returns the schema with an id; if a subject is given, only a schema of this subject, in any
   * context.
   */
  private Schema fetch(int id, String subject) throws RecordFault {
    String query =
        subject == null ? "" : "?subject=" + URLEncoder.encode(subject, StandardCharsets.UTF_8);
    String unknown = "schema id that the registry does not know";
    JsonNode schema = requireSchema(get("/schemas/ids/" + id + query, unknown));
    JsonNode rules = schema.path("ruleSet");
    if (hasRule(rules.path("encodingRules"), "") || hasRule(rules.path("domainRules"), PAYLOAD)) {
      throw RecordFault.undecidable("a rule of its schema encrypts the data");
    }
    Set<String> subjects = fetchSubjects(id, query);
    String context = "";
    if (subject != null) {
      String qualified =
          subjects.stream()
              .filter(each -> each.equals(subject) || isInContext(each, subject))
              .findFirst()
              .orElseThrow(() -> RecordFault.invalid(unknown, ""));
      subjects.add(subject);
      context = qualified.startsWith(":.") ? qualified.replaceFirst("^(:[^:]*:).*", "$1") : "";
    }
    Map<String, String> references = new LinkedHashMap<>();
    fetchReferences(schema, context, references, new HashSet<>());
    JsonNode type = schema.path("schemaType");
    require(type.isMissingNode() || type.isTextual());
    String text = text(schema, "schema");
    if (type.asText().equalsIgnoreCase("PROTOBUF")) {
      protos.addTo(references, text);
    }
    return new Schema(
        type.asText("AVRO"),
        text,
        references,
        subjects,
        hasRule(rules.path("domainRules"), "ENCRYPT"));
  }

  /** Returns whether one of {@code rules} is enabled and of a type; an empty type is any. */
  private static boolean hasRule(JsonNode rules, String type) {
    for (JsonNode rule : rules) {
      boolean ofType = type.isEmpty() || rule.path("type").asText().equals(type);
      if (ofType && !rule.path("disabled").asBoolean()) {
        return true;
      }
    }
    return false;
  }

  private Set<String> fetchSubjects(int id, String query) throws RecordFault {
    Set<String> subjects = new HashSet<>();
    JsonNode versions;
    try {
      versions = get("/schemas/ids/" + id + "/versions" + query, "");
    } catch (RecordFault fault) {
      if (fault.undecidable) {
        throw fault;
      }
      return subjects;
    }
    require(versions.isArray());
    for (JsonNode version : versions) {
      subjects.add(text(version, "subject"));
    }
    return subjects;
  }

  /** Returns whether a name is that of {@code subject} in a context: {@code :.context:subject}. */
  private static boolean isInContext(String name, String subject) {
    return name.startsWith(":.") && name.replaceFirst("^:[^:]*:", "").equals(subject);
  }

  /** Adds the schemas that {@code schema} refers to; their subjects are of its context. */
  private void fetchReferences(
      JsonNode schema, String context, Map<String, String> texts, Set<String> pending)
      throws RecordFault {
    JsonNode references = schema.path("references");
    require(references.isMissingNode() || references.isNull() || references.isArray());
    for (JsonNode reference : references) {
      String name = text(reference, "name");
      if (texts.containsKey(name)) {
        continue;
      }
      if (!pending.add(name)) {
        throw RecordFault.undecidable("the references of the registry's schemas form a cycle");
      }
      if (texts.size() + pending.size() > MAX_REFERENCES) {
        throw RecordFault.undecidable(
            "the registry's schema has more than " + MAX_REFERENCES + " references");
      }
      String named = text(reference, "subject");
      String subject = pathSegment(named.startsWith(":") ? named : context + named);
      require(reference.path("version").isInt());
      String path = "/subjects/" + subject + "/versions/" + reference.path("version").asInt();
      JsonNode referenced = requireSchema(get(path, "a dangling reference"));
      fetchReferences(referenced, context, texts, pending);
      pending.remove(name);
      texts.put(name, text(referenced, "schema"));
    }
  }

  private static JsonNode requireSchema(JsonNode answer) throws RecordFault {
    text(answer, "schema");
    return answer;
  }

  private static String text(JsonNode answer, String name) throws RecordFault {
    require(answer.path(name).isTextual());
    return answer.path(name).asText();
  }

  private static void require(boolean expected) throws RecordFault {
    if (!expected) {
      throw RecordFault.undecidable("the Schema Registry's answer has an unknown form");
    }
  }

  private static String pathSegment(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20");
  }

  private void requireConnection() throws RecordFault {
    if (connectionFault != null) {
      throw connectionFault;
    }
  }

  /**
   * Returns the JSON at a path.
   *
   * @param notFoundReason the reason of the fault if the registry answers that it has no such thing
   */
  private JsonNode get(String path, String notFoundReason) throws RecordFault {
    requireConnection();
    HttpResponse<byte[]> response = send(path);
    JsonNode answer = null;
    try {
      answer = Json.MAPPER.readTree(response.body());
    } catch (IOException error) { // other requests may still succeed
      // Reported below, with the status.
    }
    int status = response.statusCode();
    // A proxy or a wrong path answers 404 as well, and says nothing about the schema.
    if (status == 404 && answer != null && isNotFoundCode(answer.path("error_code").asInt())) {
      throw RecordFault.invalid(notFoundReason, "");
    }
    if (status != 200) {
      throw RecordFault.undecidable("the Schema Registry answered " + status);
    }
    if (answer == null) {
      throw RecordFault.undecidable("the Schema Registry's answer is not JSON");
    }
    return answer;
  }

  private static boolean isNotFoundCode(int code) {
    return code > NOT_FOUND_CODES && code < NOT_FOUND_CODES + 100;
  }

  private HttpResponse<byte[]> send(String path) throws RecordFault {
    long start = System.nanoTime();
    try {
      HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path));
      request.header("Accept", "application/vnd.schemaregistry.v1+json, application/json");
      if (authorization != null) {
        request.header("Authorization", authorization);
      }
      CompletableFuture<HttpResponse<byte[]>> sent =
          client.sendAsync(request.build(), info -> new BoundedBody(MAX_BYTES));
      try { // the timeout of a request would end with the headers of its answer
        HttpResponse<byte[]> response = sent.get(TIMEOUT.toMillis(), TimeUnit.MILLISECONDS);
        receivedBytes += response.body().length;
        return response;
      } finally {
        sent.cancel(true);
      }
    } catch (ExecutionException error) {
      if (error.getCause() instanceof BoundedBody.TooLargeException) {
        receivedBytes += MAX_BYTES;
        throw RecordFault.undecidable(
            "the Schema Registry's answer is larger than " + MAX_BYTES + " bytes");
      }
      throw lost("cannot be reached: " + error.getCause().getClass().getSimpleName());
    } catch (TimeoutException error) {
      throw lost("did not answer within " + TIMEOUT.toSeconds() + " s");
    } catch (IllegalArgumentException error) {
      throw lost("cannot be reached: " + error.getClass().getSimpleName());
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw RecordFault.undecidable("the audit was interrupted");
    } finally {
      waitedNanos += System.nanoTime() - start;
      if (waitedNanos > MAX_WAIT.toNanos()) {
        lost("took more than " + MAX_WAIT.toSeconds() + " s for all answers");
      } else if (receivedBytes > MAX_TOTAL_BYTES) {
        lost("answered more than " + MAX_TOTAL_BYTES + " bytes");
      }
    }
  }

  /** Returns the fault of all further requests; the first one counts. */
  private RecordFault lost(String reason) {
    if (connectionFault == null) {
      connectionFault = RecordFault.undecidable("the Schema Registry " + reason);
    }
    return connectionFault;
  }
}
