package topicwarden;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** A Schema Registry, by Confluent's REST interface. Each schema is asked for once; so is one that cannot be had. */
final class Registry {
  private static final Duration PATIENCE = Duration.ofSeconds(10);

  /** A schema, and the texts of those it refers to, by the names it uses for them, the deepest first. */
  record Schema(String type, String text, Map<String, String> references, Set<String> subjects) {}

  private interface Lookup {
    Object find() throws Malformed;
  }

  private final HttpClient client = HttpClient.newBuilder().connectTimeout(PATIENCE).build();
  private final String url;
  private final String authorization;
  private final Map<Object, Object> known = new HashMap<>();
  private Malformed silent;

  /** {@code settings}: {@code url} and, where it is protected, {@code username} and {@code password}. */
  Registry(JsonNode settings) {
    url = settings.path("url").asText().replaceAll("/+$", "");
    String pair = settings.path("username").asText() + ":" + settings.path("password").asText();
    authorization = settings.hasNonNull("username")
        ? "Basic " + Base64.getEncoder().encodeToString(pair.getBytes(StandardCharsets.UTF_8)) : null;
  }

  Schema schema(int id) throws Malformed {
    return (Schema) once(id, () -> {
      JsonNode held = get("/schemas/ids/" + id, "schema id that the registry does not know");
      Set<String> subjects = new HashSet<>();
      JsonNode versions = get("/schemas/ids/" + id + "/versions", "schema id without a subject");
      versions.forEach(one -> subjects.add(one.path("subject").asText()));
      Map<String, String> references = new LinkedHashMap<>();
      collect(held, references);
      return new Schema(held.path("schemaType").asText("AVRO"), held.path("schema").asText(), references, subjects);
    });
  }

  private void collect(JsonNode schema, Map<String, String> into) throws Malformed {
    List<JsonNode> named = new ArrayList<>();
    schema.path("references").forEach(named::add);
    for (JsonNode one : named) {
      if (!into.containsKey(one.path("name").asText())) {
        String subject = URLEncoder.encode(one.path("subject").asText(), StandardCharsets.UTF_8).replace("+", "%20");
        JsonNode held = get("/subjects/" + subject + "/versions/" + one.path("version").asText(), "a dangling reference");
        collect(held, into);
        into.put(one.path("name").asText(), held.path("schema").asText());
      }
    }
  }

  private Object once(Object key, Lookup lookup) throws Malformed {
    Object held = known.get(key);
    if (held == null) {
      try {
        held = lookup.find();
      } catch (Malformed error) {
        held = error;
      }
      known.put(key, held);
    }
    if (held instanceof Malformed error) {
      throw error;
    }
    return held;
  }

  private JsonNode get(String path, String missing) throws Malformed {
    if (silent != null) {
      throw silent;
    }
    try {
      HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url + path)).timeout(PATIENCE);
      request.header("Accept", "application/vnd.schemaregistry.v1+json, application/json");
      if (authorization != null) {
        request.header("Authorization", authorization);
      }
      HttpResponse<String> answer = client.send(request.build(), HttpResponse.BodyHandlers.ofString());
      if (answer.statusCode() == 404) {
        throw Malformed.because(missing, "");
      }
      if (answer.statusCode() != 200) {
        throw Malformed.unknown("the Schema Registry answered " + answer.statusCode());
      }
      return Json.MAPPER.readTree(answer.body());
    } catch (JsonProcessingException error) { // one answer says nothing about the others
      throw Malformed.unknown("the Schema Registry's answer is not JSON");
    } catch (IOException | IllegalArgumentException error) {
      silent = Malformed.unknown("the Schema Registry could not be asked: " + error.getClass().getSimpleName());
      throw silent;
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw Malformed.unknown("the audit was interrupted");
    }
  }
}
