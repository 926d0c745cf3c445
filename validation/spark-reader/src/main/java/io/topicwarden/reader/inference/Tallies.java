package io.topicwarden.reader.inference;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.topicwarden.reader.Json;
import java.util.Map;
import java.util.TreeMap;

/** Tallies by name. */
final class Tallies {
  private final Map<String, Tally> byName = new TreeMap<>();

  static Tallies from(JsonNode json) {
    Tallies tallies = new Tallies();
    json.properties()
        .forEach(each -> tallies.byName.put(each.getKey(), Tally.from(each.getValue())));
    return tallies;
  }

  Tally of(String name) {
    return byName.computeIfAbsent(name, any -> new Tally());
  }

  int size() {
    return byName.size();
  }

  /** Adds the tallies of {@code other}, without the one of this name; null for all. */
  void add(Tallies other, String without) {
    other.byName.forEach(
        (name, tally) -> {
          if (!name.equals(without)) {
            of(name).add(tally);
          }
        });
  }

  void writeTo(ObjectNode parent, String name) {
    ObjectNode json = Json.MAPPER.createObjectNode();
    byName.forEach((each, tally) -> tally.writeTo(json, each));
    if (!json.isEmpty()) {
      parent.set(name, json);
    }
  }
}
