package io.topicwarden.reader.inference;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.BitSet;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Which properties the JSON objects of a topic have, for each text of each property that may decide
 * about them: a discriminator. Looks at the properties of records and of the objects in these.
 *
 * <p>A candidate is a property that is a text in all objects, with at most {@link #MAX_TEXTS}
 * texts. Candidates only become fewer with more records, and the paths only more, so {@link #merge}
 * is associative and commutative. If there are no candidates or more than {@link #MAX_PATHS} paths,
 * nothing more is counted.
 */
final class Variants {
  static final int MAX_TEXTS = 12;
  static final int MAX_PATHS = 200;

  /** The objects with one text of a candidate. */
  private static final class Variant {
    long objects;
    final Map<String, Property> properties = new TreeMap<>();

    Property property(String path) {
      return properties.computeIfAbsent(path, any -> new Property());
    }

    void add(Variant other) {
      objects += other.objects;
      other.properties.forEach((path, property) -> property(path).add(property));
    }
  }

  /** How many objects have a property, and its types, as ordinals of {@link JsonType}. */
  private static final class Property {
    long count;
    final BitSet types = new BitSet();

    void add(Property other) {
      count += other.count;
      types.or(other.types);
    }
  }

  private final Settings settings;
  private final Set<String> paths = new HashSet<>();
  private Map<String, Map<String, Variant>> candidates; // null before the first object

  Variants(Settings settings) {
    this.settings = settings;
  }

  /** Adds the value of a record. */
  void add(JsonNode value) {
    if (candidates != null && candidates.isEmpty()) {
      return;
    }
    Map<String, JsonNode> found = new TreeMap<>();
    if (value.isObject()) {
      collect(value, "", found);
    }
    paths.addAll(found.keySet());
    if (candidates == null) {
      candidates = new TreeMap<>();
      found.forEach((path, each) -> candidates.put(path, new TreeMap<>()));
    }
    candidates
        .entrySet()
        .removeIf(each -> !addTo(each.getValue(), found.get(each.getKey()), found));
    limitPaths();
  }

  private void collect(JsonNode object, String parent, Map<String, JsonNode> found) {
    for (Map.Entry<String, JsonNode> property : object.properties()) {
      String name = property.getKey();
      String path = parent + "/" + name.replace("~", "~0").replace("/", "~1");
      if (paths.contains(path) || !settings.isData(name)) {
        found.put(path, property.getValue());
        if (parent.isEmpty() && property.getValue().isObject()) {
          collect(property.getValue(), path, found);
        }
      }
    }
  }

  /** Returns whether the property at one path may still be a discriminator. */
  private boolean addTo(
      Map<String, Variant> variants, JsonNode text, Map<String, JsonNode> properties) {
    if (text == null || !text.isTextual() || !DistinctTexts.isKept(text.textValue())) {
      return false;
    }
    Variant variant =
        variants.computeIfAbsent(settings.kept(text.textValue()), any -> new Variant());
    variant.objects++;
    properties.forEach(
        (path, value) -> {
          Property property = variant.property(path);
          property.count++;
          property.types.set(JsonType.of(value).ordinal());
        });
    return variants.size() <= MAX_TEXTS;
  }

  private void limitPaths() {
    if (paths.size() > MAX_PATHS) {
      candidates.clear();
    }
    if (candidates.isEmpty()) {
      paths.clear();
    }
  }

  /** Adds the objects of other records; {@code other} must not be used any more. */
  void merge(Variants other) {
    if (other.candidates == null) {
      return;
    }
    paths.addAll(other.paths);
    if (candidates == null) {
      candidates = other.candidates;
    } else {
      candidates.keySet().retainAll(other.candidates.keySet());
      candidates
          .entrySet()
          .removeIf(each -> !merge(each.getValue(), other.candidates.get(each.getKey())));
    }
    limitPaths();
  }

  private static boolean merge(Map<String, Variant> variants, Map<String, Variant> others) {
    others.forEach(
        (text, other) -> variants.computeIfAbsent(text, any -> new Variant()).add(other));
    return variants.size() <= MAX_TEXTS;
  }

  /** Drops the candidates that look personal. Called once, as {@link JsonShape#finish}. */
  void finish() {
    if (candidates != null) {
      candidates
          .entrySet()
          .removeIf(
              each ->
                  looksPersonal(each.getKey())
                      || (settings.showsValues()
                          && each.getValue().keySet().stream().anyMatch(settings::looksPersonal)));
    }
  }

  private boolean looksPersonal(String path) {
    int parent = path.lastIndexOf('/');
    return settings.isPersonalName(path.substring(parent + 1))
        || (parent > 0 && settings.isPersonalName(path.substring(1, parent)));
  }

  void writeTo(ObjectNode parent, String name) {
    if (candidates == null) {
      return;
    }
    ObjectNode json = parent.putObject(name);
    candidates.forEach(
        (path, variants) -> {
          ObjectNode byText = json.putObject(path);
          variants.forEach((text, variant) -> write(variant, byText.putObject(text)));
        });
  }

  private static void write(Variant variant, ObjectNode json) {
    json.put("objects", variant.objects);
    ObjectNode properties = json.putObject("properties");
    variant.properties.forEach(
        (path, property) -> {
          ArrayNode entry = properties.putArray(path).add(property.count);
          property.types.stream().forEach(type -> entry.add(JsonType.values()[type].keyword));
        });
  }

  static Variants from(JsonNode json, Settings settings) {
    Variants result = new Variants(settings);
    if (json.isMissingNode()) {
      return result;
    }
    result.candidates = new TreeMap<>();
    for (Map.Entry<String, JsonNode> candidate : json.properties()) {
      Map<String, Variant> variants = new TreeMap<>();
      for (Map.Entry<String, JsonNode> each : candidate.getValue().properties()) {
        variants.put(each.getKey(), result.readVariant(each.getValue()));
      }
      result.candidates.put(candidate.getKey(), variants);
    }
    return result;
  }

  private Variant readVariant(JsonNode json) {
    Variant variant = new Variant();
    variant.objects = json.path("objects").asLong();
    for (Map.Entry<String, JsonNode> each : json.path("properties").properties()) {
      Property property = variant.property(each.getKey());
      property.count = each.getValue().get(0).asLong();
      for (int i = 1; i < each.getValue().size(); i++) {
        property.types.set(JsonType.ofKeyword(each.getValue().get(i).asText()).ordinal());
      }
      paths.add(each.getKey());
    }
    return variant;
  }
}
