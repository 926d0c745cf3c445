package io.topicwarden.reader.codecs;

import com.fasterxml.jackson.databind.JsonNode;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * The {@code .proto} files that registries resolve without a reference ({@code
 * ProtobufSchema.KNOWN_DEPENDENCIES}), and that Wire does not have.
 */
final class BuiltInProtos {
  private static final Pattern IMPORT =
      Pattern.compile("\\bimport\\s+(?:public\\s+|weak\\s+)?[\"']([^\"']+)[\"']");
  private static final String OF_LIBRARY = "google/protobuf/";
  private static final Set<String> MISSING_IN_WIRE =
      Set.of("api.proto", "field_mask.proto", "source_context.proto", "type.proto");

  private final Map<String, String> texts = new HashMap<>();

  /**
   * Takes the files of {@code google/type} and {@code confluent}.
   *
   * @param texts an object with the texts by import name; may be missing
   */
  BuiltInProtos(JsonNode texts) {
    texts.properties().forEach(each -> this.texts.put(each.getKey(), each.getValue().asText()));
    for (String name : MISSING_IN_WIRE) {
      addResource(OF_LIBRARY + name);
    }
  }

  /** Adds a file of the library's jar. Without it, only the schemas that import it are unusable. */
  private void addResource(String name) {
    try (InputStream file = BuiltInProtos.class.getResourceAsStream("/" + name)) {
      if (file != null) {
        texts.put(name, new String(file.readAllBytes(), StandardCharsets.UTF_8));
      }
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  /** Adds the files that {@code text} and {@code imports} import, also indirectly. */
  void addTo(Map<String, String> imports, String text) {
    Deque<String> pending = new ArrayDeque<>(imports.values());
    pending.add(text);
    while (!pending.isEmpty()) {
      for (String name : imported(pending.remove())) {
        String file = texts.get(name);
        if (file != null && imports.putIfAbsent(name, file) == null) {
          pending.add(file);
        }
      }
    }
  }

  private static List<String> imported(String text) {
    FileDescriptorProto encoded = ProtobufCodec.encoded(text);
    return encoded == null
        ? IMPORT.matcher(text).results().map(found -> found.group(1)).toList()
        : encoded.getDependencyList();
  }
}
