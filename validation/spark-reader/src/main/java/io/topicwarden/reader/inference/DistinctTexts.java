package io.topicwarden.reader.inference;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;

/**
 * The distinct texts of a field with their counts, as long as there are few. Without {@link
 * Settings#showsValues}, only salted hashes of them.
 */
final class DistinctTexts {
  static final int MAX_TEXTS = 24;
  private static final int MAX_LENGTH = 64;

  private final Settings settings;
  private Map<String, Long> counts = new TreeMap<>(); // null if there are too many

  DistinctTexts(Settings settings) {
    this.settings = settings;
  }

  void add(String text) {
    if (counts != null) {
      if (!isKept(text)) {
        counts = null;
      } else {
        add(settings.kept(text), 1);
      }
    }
  }

  /** Returns whether a text is short, and no half of a surrogate pair, which no file can have. */
  static boolean isKept(String text) {
    return text.length() <= MAX_LENGTH && Settings.isUnicode(text);
  }

  private void add(String text, long more) {
    if (counts != null) {
      counts.merge(text, more, Long::sum);
      if (counts.size() > MAX_TEXTS) {
        counts = null;
      }
    }
  }

  void add(DistinctTexts other) {
    if (other.counts == null) {
      counts = null;
    } else {
      other.counts.forEach(this::add);
    }
  }

  boolean anyIs(Predicate<String> kind) {
    return counts != null && settings.showsValues() && counts.keySet().stream().anyMatch(kind);
  }

  void drop() {
    counts = null;
  }

  void writeTo(ObjectNode parent, String name) {
    if (counts == null) {
      parent.putNull(name);
    } else if (!counts.isEmpty()) {
      ObjectNode json = parent.putObject(name);
      counts.forEach(json::put);
    }
  }

  void read(JsonNode json) {
    if (json.isNull()) {
      counts = null;
    } else {
      json.properties().forEach(each -> counts.put(each.getKey(), each.getValue().asLong()));
    }
  }
}
