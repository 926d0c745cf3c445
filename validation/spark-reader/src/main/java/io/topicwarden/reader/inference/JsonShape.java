package io.topicwarden.reader.inference;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.topicwarden.reader.Json;
import io.topicwarden.reader.personal.PersonalData;
import java.math.BigDecimal;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * What the JSON values at one path have in common, in bounded size.
 *
 * <p>{@link #merge} is associative and commutative: shapes of any ranges of offsets, merged in any
 * order, give the shape of all their records. Names that are data ({@link Settings#isData}) share
 * one shape, and are dropped. An object with more than {@link #MAX_NAMES} other names is a map: all
 * its names are dropped. If there are more than {@link #MAX_PATHS} paths, the deepest level is
 * dropped, and its objects and arrays are only counted; close to this limit alone, the split of the
 * records may decide at which level.
 */
public final class JsonShape {
  static final int MAX_NAMES = 200;
  static final int MAX_PATHS = 6_000;
  static final int MAX_DEPTH = 12;

  private static final int SPARSE_NAMES = 20;
  private static final double SPARSE_SHARE = 0.75;
  private static final int PERSONAL_SAMPLE = 8; // one of this many offsets

  /** What all shapes of one tree share. */
  private static final class Tree {
    final Settings settings;
    int maxDepth = MAX_DEPTH;
    int paths;

    Tree(Settings settings) {
      this.settings = settings;
    }
  }

  private static final class Field {
    final JsonShape shape;
    final Tally missing;

    Field(JsonShape shape, Tally missing) {
      this.shape = shape;
      this.missing = missing;
    }
  }

  private final Tree tree;
  private final int depth;
  private final String name;
  private final boolean isPersonal; // by its name, or by that of a field around it
  private final Tally[] types = new Tally[JsonType.values().length];
  private final Tally[] notInFormat = new Tally[StringFormat.values().length];
  private final DistinctTexts texts;
  private final Tallies personal = new Tallies();
  private final Map<String, Field> fields = new TreeMap<>();
  private boolean isMap;
  private boolean hidesValues; // personal, or values of a personal field are among these
  private JsonShape others; // the values of names that are dropped
  private JsonShape items;
  private BigDecimal least;
  private BigDecimal greatest;

  /** The shape of whole records. */
  public JsonShape(Settings settings) {
    this(new Tree(settings), 0, "", false);
  }

  private JsonShape(Tree tree, int depth, String name, boolean isInPersonal) {
    this.tree = tree;
    this.depth = depth;
    this.name = name;
    this.isPersonal = isInPersonal || tree.settings.isPersonalName(name);
    this.texts = new DistinctTexts(tree.settings);
    tree.paths++;
    for (int i = 0; i < types.length; i++) {
      types[i] = new Tally();
    }
    for (int i = 0; i < notInFormat.length; i++) {
      notInFormat[i] = new Tally();
    }
    if (isPersonal) {
      hideValues();
    }
  }

  private JsonShape child(String childName) {
    JsonShape child = new JsonShape(tree, depth + 1, childName, isPersonal);
    if (hidesValues) {
      child.hideValues();
    }
    return child;
  }

  /** Keeps no value here and below, whatever is added later. */
  private void hideValues() {
    if (!hidesValues) {
      hidesValues = true;
      dropValues();
      fields.values().forEach(field -> field.shape.hideValues());
      if (others != null) {
        others.hideValues();
      }
      if (items != null) {
        items.hideValues();
      }
    }
  }

  private void dropValues() {
    texts.drop();
    least = null;
    greatest = null;
  }

  /** Adds the value of the record at {@code offset} of {@code partition}. */
  public void add(JsonNode value, int partition, long offset) {
    addValue(value, partition, offset);
    keepWithinLimits();
  }

  private void addValue(JsonNode value, int partition, long offset) {
    JsonType type = JsonType.of(value);
    switch (type) {
      case STRING -> addText(value.textValue(), partition, offset);
      case INTEGER, NUMBER -> {
        if (tree.settings.showsValues() && !hidesValues) {
          BigDecimal number = value.decimalValue().stripTrailingZeros(); // 1.0 and 1: one bound
          addBounds(number, number);
        }
        if (offset % PERSONAL_SAMPLE == 0) {
          addPersonal("", partition, offset);
        }
      }
      case ARRAY -> {
        if (depth < tree.maxDepth) {
          for (JsonNode item : value) {
            items().addValue(item, partition, offset);
          }
        }
      }
      case OBJECT -> {
        if (depth < tree.maxDepth) {
          addObject(value, partition, offset);
        }
      }
      default -> {}
    }
    types[type.ordinal()].add(partition, offset); // after the fields: new ones are missing before
  }

  private void addText(String text, int partition, long offset) {
    for (StringFormat format : StringFormat.values()) {
      if (!format.matches(text)) {
        notInFormat[format.ordinal()].add(partition, offset);
      }
    }
    texts.add(text);
    if (offset % PERSONAL_SAMPLE == 0) {
      addPersonal(text, partition, offset);
    }
  }

  private void addPersonal(String text, int partition, long offset) {
    String kind = tree.settings.personal().kind(name, text);
    if (kind != null || isPersonal) {
      personal.of(kind == null ? PersonalData.NAME : kind).add(partition, offset);
    }
  }

  private void addObject(JsonNode object, int partition, long offset) {
    for (Map.Entry<String, JsonNode> property : object.properties()) {
      String key = property.getKey();
      Field known = fields.get(key);
      if (known == null && (isMap || tree.settings.isData(key))) {
        if (isMap && tree.settings.isPersonalName(key)) {
          others().hideValues();
        }
        others().addValue(property.getValue(), partition, offset);
      } else {
        known = known == null ? field(key) : known;
        known.shape.addValue(property.getValue(), partition, offset);
        collapseIfMap();
      }
    }
    fields.forEach(
        (key, field) -> {
          if (!object.has(key)) {
            field.missing.add(partition, offset);
          }
        });
  }

  private Field field(String key) {
    Field known = fields.get(key);
    if (known == null) {
      Tally missing = new Tally();
      missing.add(types[JsonType.OBJECT.ordinal()]);
      known = new Field(child(key), missing);
      fields.put(key, known);
    }
    return known;
  }

  private void collapseIfMap() {
    if (fields.size() > MAX_NAMES) {
      isMap = true;
      fields.values().forEach(field -> others().mergeShape(field.shape));
      dropFields();
    }
  }

  /**
   * Makes maps of the objects with many names, of which each object has few, and whose values have
   * the same types; and drops the values of fields that look personal. Called once, for the shape
   * of all records: more records may change the answer.
   */
  void finish() {
    if (texts.anyIs(tree.settings::looksPersonal)) {
      dropValues();
    }
    if (isSparse()) {
      isMap = true;
      fields.values().forEach(field -> others().mergeShape(field.shape));
      dropFields();
    }
    fields.values().forEach(field -> field.shape.finish());
    if (others != null) {
      others.finish();
    }
    if (items != null) {
      items.finish();
    }
  }

  private boolean isSparse() {
    long missing = 0;
    Set<JsonType> all = EnumSet.noneOf(JsonType.class);
    int most = 0;
    for (Field field : fields.values()) {
      missing += field.missing.count();
      Set<JsonType> found = field.shape.kinds();
      all.addAll(found);
      most = Math.max(most, found.size());
    }
    double objects = types[JsonType.OBJECT.ordinal()].count();
    return fields.size() > SPARSE_NAMES
        && most == all.size() // one name has the values of all others
        && missing / objects / fields.size() > SPARSE_SHARE;
  }

  /** Returns the types of the values without null; integers are numbers. */
  private Set<JsonType> kinds() {
    Set<JsonType> found = EnumSet.noneOf(JsonType.class);
    for (JsonType type : JsonType.values()) {
      if (type != JsonType.NULL && types[type.ordinal()].count() > 0) {
        found.add(type == JsonType.INTEGER ? JsonType.NUMBER : type);
      }
    }
    return found;
  }

  private void dropFields() {
    fields.values().forEach(field -> field.shape.dropped());
    fields.clear();
  }

  /** Takes this shape and those below it out of the count of paths. */
  private void dropped() {
    tree.paths--;
    dropBelow();
  }

  private void dropBelow() {
    dropFields();
    if (others != null) {
      others.dropped();
      others = null;
    }
    if (items != null) {
      items.dropped();
      items = null;
    }
  }

  private void keepWithinLimits() {
    while (tree.paths > MAX_PATHS && tree.maxDepth > 0) {
      tree.maxDepth--;
      prune();
    }
  }

  private void prune() {
    if (depth >= tree.maxDepth) {
      dropBelow();
    } else {
      fields.values().forEach(field -> field.shape.prune());
      if (others != null) {
        others.prune();
      }
      if (items != null) {
        items.prune();
      }
    }
  }

  private JsonShape others() {
    if (others == null) {
      others = child("");
    }
    return others;
  }

  private JsonShape items() {
    if (items == null) {
      items = child(name); // emails: [...] looks as personal as email
    }
    return items;
  }

  private void addBounds(BigDecimal low, BigDecimal high) {
    least = least == null || low.compareTo(least) < 0 ? low : least;
    greatest = greatest == null || high.compareTo(greatest) > 0 ? high : greatest;
  }

  /** Adds the values of another shape of the same path, which is left as it is. */
  public void merge(JsonShape other) {
    if (other.tree.maxDepth < tree.maxDepth) {
      tree.maxDepth = other.tree.maxDepth;
      prune();
    }
    mergeShape(other);
    keepWithinLimits();
  }

  private void mergeShape(JsonShape other) {
    if (depth < tree.maxDepth) {
      mergeObjects(other);
      if (other.items != null) {
        items().mergeShape(other.items);
      }
    }
    if (other.hidesValues) {
      hideValues();
    }
    if (other.least != null && !hidesValues) {
      addBounds(other.least, other.greatest);
    }
    texts.add(other.texts);
    personal.add(other.personal, isPersonal ? null : PersonalData.NAME);
    for (int i = 0; i < types.length; i++) {
      types[i].add(other.types[i]);
    }
    for (int i = 0; i < notInFormat.length; i++) {
      notInFormat[i].add(other.notInFormat[i]);
    }
  }

  private void mergeObjects(JsonShape other) {
    if (other.isMap && !isMap) {
      isMap = true;
      fields.values().forEach(field -> others().mergeShape(field.shape));
      dropFields();
    }
    if (other.others != null) {
      others().mergeShape(other.others);
    }
    fields.forEach(
        (key, field) -> {
          if (!other.fields.containsKey(key)) {
            field.missing.add(other.types[JsonType.OBJECT.ordinal()]);
          }
        });
    other.fields.forEach(
        (key, field) -> {
          if (isMap) {
            others().mergeShape(field.shape);
          } else {
            Field own = field(key);
            own.shape.mergeShape(field.shape);
            own.missing.add(field.missing);
          }
        });
    collapseIfMap();
  }

  /** Returns the shape as JSON, which {@link #from} reads. */
  public ObjectNode toJson() {
    ObjectNode json = Json.MAPPER.createObjectNode();
    if (depth == 0) {
      json.put("max_depth", tree.maxDepth);
    }
    ObjectNode counts = json.putObject("types");
    for (JsonType type : JsonType.values()) {
      types[type.ordinal()].writeTo(counts, type.keyword);
    }
    if (types[JsonType.STRING.ordinal()].count() > 0) {
      ObjectNode formats = json.putObject("not_in_format");
      for (StringFormat format : StringFormat.values()) {
        notInFormat[format.ordinal()].writeTo(formats, format.keyword);
      }
    }
    texts.writeTo(json, "texts");
    personal.writeTo(json, "personal");
    if (least != null) {
      json.put("minimum", least.toPlainString()).put("maximum", greatest.toPlainString());
    }
    if (isMap) {
      json.put("map", true);
    }
    if (hidesValues && !isPersonal) {
      json.put("hides_values", true);
    }
    if (!fields.isEmpty()) {
      ObjectNode properties = json.putObject("fields");
      fields.forEach(
          (key, field) -> {
            ObjectNode property = field.shape.toJson();
            field.missing.writeTo(property, "missing");
            properties.set(key, property);
          });
    }
    if (others != null) {
      json.set("others", others.toJson());
    }
    if (items != null) {
      json.set("items", items.toJson());
    }
    return json;
  }

  /** Returns the shape that {@link #toJson} wrote. */
  public static JsonShape from(JsonNode json, Settings settings) {
    JsonShape shape = new JsonShape(settings);
    shape.tree.maxDepth = json.path("max_depth").asInt();
    shape.read(json);
    return shape;
  }

  private void read(JsonNode json) {
    if (json.path("hides_values").asBoolean()) {
      hideValues();
    }
    for (JsonType type : JsonType.values()) {
      types[type.ordinal()].add(Tally.from(json.path("types").path(type.keyword)));
    }
    for (StringFormat format : StringFormat.values()) {
      JsonNode tally = json.path("not_in_format").path(format.keyword);
      notInFormat[format.ordinal()].add(Tally.from(tally));
    }
    texts.read(json.path("texts"));
    personal.add(Tallies.from(json.path("personal")), null);
    if (json.has("minimum")) {
      addBounds(
          new BigDecimal(json.path("minimum").asText()).stripTrailingZeros(),
          new BigDecimal(json.path("maximum").asText()).stripTrailingZeros());
    }
    isMap = json.path("map").asBoolean();
    for (Map.Entry<String, JsonNode> each : json.path("fields").properties()) {
      JsonShape shape = child(each.getKey());
      shape.read(each.getValue());
      fields.put(each.getKey(), new Field(shape, Tally.from(each.getValue().path("missing"))));
    }
    if (json.has("others")) {
      others().read(json.get("others"));
    }
    if (json.has("items")) {
      items().read(json.get("items"));
    }
  }
}
