package io.topicwarden.reader.inference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.topicwarden.reader.Json;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class JsonShapeTest {
  private static JsonNode parse(String text) throws Exception {
    return Json.MAPPER.readTree(text);
  }

  private static Set<String> fieldNames(JsonNode object) {
    Set<String> names = new HashSet<>();
    object.properties().forEach(each -> names.add(each.getKey()));
    return names;
  }

  private static JsonNode draw(Random random, int depth) {
    var nodes = Json.MAPPER.getNodeFactory();
    switch (random.nextInt(depth > 16 ? 6 : 10)) {
      case 0:
        return nodes.nullNode();
      case 1:
        return nodes.booleanNode(random.nextBoolean());
      case 2:
        return nodes.numberNode(random.nextLong());
      case 3:
        return nodes.numberNode(random.nextGaussian());
      case 4:
        return nodes.textNode(random.nextBoolean() ? "2024-02-28" : "");
      case 5:
        return nodes.textNode("ünïcode");
      case 6:
        ArrayNode array = nodes.arrayNode();
        for (int items = random.nextInt(3); items > 0; items--) {
          array.add(draw(random, depth + 1));
        }
        return array;
      default:
        ObjectNode object = nodes.objectNode();
        int names = depth < 2 && random.nextInt(2) == 0 ? 10_000 : 4; // some become maps
        for (int fields = random.nextInt(4); fields > 0; fields--) {
          String name = random.nextInt(300) == 0 ? "email" : "n" + random.nextInt(names);
          object.set(name, draw(random, depth + 1));
        }
        return object;
    }
  }

  static Settings settings(boolean showsValues) {
    return Settings.parse("{\"show_values\": " + showsValues + ", \"salt\": \"s\"}");
  }

  @Test
  void anySplitMergedInAnyOrderIsTheShapeOfAllRecords() {
    boolean map = false;
    for (int seed = 0; seed < 60; seed++) {
      Settings settings = settings(seed % 2 == 0);
      Random random = new Random(seed);
      JsonShape whole = new JsonShape(settings);
      List<JsonShape> parts = new ArrayList<>();
      for (int part = 0; part < 1 + random.nextInt(8); part++) {
        parts.add(new JsonShape(settings));
      }
      for (int offset = 0; offset < 800; offset++) {
        JsonNode value = draw(random, 0);
        int partition = random.nextInt(3);
        whole.add(value, partition, offset);
        parts.get(random.nextInt(parts.size())).add(value, partition, offset);
      }
      Collections.shuffle(parts, random);
      while (parts.size() > 1) { // a random tree of merges, some of them of parsed shapes
        JsonShape right = parts.remove(random.nextInt(parts.size()));
        JsonShape left = parts.get(random.nextInt(parts.size()));
        left.merge(random.nextBoolean() ? right : JsonShape.from(right.toJson(), settings));
      }
      String expected = whole.toJson().toString();
      assertEquals(expected, parts.get(0).toJson().toString(), "seed " + seed);
      map |= expected.contains("\"map\"");
    }
    assertTrue(map, "some drawn objects are maps");
  }

  @Test
  void aMissingFieldIsCountedWithTheFirstRecordWithoutIt() throws Exception {
    JsonShape shape = new JsonShape(settings(false));
    shape.add(parse("{}"), 2, 5);
    shape.add(parse("{\"a\": 1}"), 0, 9);
    shape.add(parse("{\"b\": 1}"), 1, 7);
    JsonNode fields = shape.toJson().path("fields");
    assertEquals("[2,1,7]", fields.path("a").path("missing").toString());
    assertEquals("[2,0,9]", fields.path("b").path("missing").toString());
  }

  @Test
  void valuesAreOnlyKeptOnRequest() throws Exception {
    for (boolean showsValues : List.of(true, false)) {
      JsonShape shape = new JsonShape(settings(showsValues));
      shape.add(parse("{\"a\": \"marked\", \"b\": [424242, {\"c\": \"marked\"}]}"), 0, 1);
      assertEquals(showsValues, shape.toJson().toString().contains("marked"));
      assertEquals(showsValues, shape.toJson().toString().contains("424242"));
    }
  }

  @Test
  void namesThatAreDataAreNeverKept() throws Exception {
    JsonShape shape = new JsonShape(settings(true));
    List<String> names =
        List.of(
            "jane@example.org", "10.0.0.1", "1042", "2024-01-31", "order-12345", "x".repeat(99));
    for (String name : names) {
      shape.add(parse("{\"" + name + "\": 1, \"line2\": 1}"), 0, 1);
    }
    JsonNode json = shape.toJson();
    assertEquals("{\"integer\":[6,0,1]}", json.path("others").path("types").toString());
    assertEquals(Set.of("line2"), fieldNames(json.path("fields")));
  }

  @Test
  void anObjectWithManyNamesIsAMapWithoutNames() throws Exception {
    JsonShape shape = new JsonShape(settings(true));
    for (int id = 0; id <= JsonShape.MAX_NAMES; id++) {
      shape.add(parse("{\"airport " + (char) ('A' + id % 20) + id + "\": {\"gate\": 1}}"), 0, id);
    }
    assertFalse(shape.toJson().toString().contains("airport"));
    assertTrue(shape.toJson().path("others").path("fields").has("gate"));
  }

  @Test
  void valuesOfAndBelowPersonalFieldsAreNeverKept() throws Exception {
    JsonShape shape = new JsonShape(settings(true));
    shape.add(parse("{\"passport\": {\"at\": \"marked\", \"n\": [771177]}, \"a\": 4}"), 0, 0);
    for (int name = 0; name <= JsonShape.MAX_NAMES; name++) { // a map
      shape.add(parse("{\"word " + name + "\": \"few\"}"), 0, 1);
    }
    shape.add(parse("{\"surname\": {\"is\": \"marked\"}}"), 0, 2);
    JsonShape late = new JsonShape(settings(true));
    late.add(parse("{\"surname\": \"marked\", \"b\": \"few\"}"), 0, 3);
    shape.merge(JsonShape.from(late.toJson(), settings(true)));
    String json = shape.toJson().toString();
    assertFalse(json.contains("marked") || json.contains("771177"), json);
  }

  @Test
  void halvesOfSurrogatePairsAreNeverKept() throws Exception {
    JsonShape shape = new JsonShape(settings(true));
    shape.add(parse("{\"a\": \"\\ud83d\", \"b\": \"\\ud83d\\ude00\"}"), 0, 1);
    JsonNode fields = shape.toJson().path("fields");
    assertTrue(fields.path("a").path("texts").isNull());
    assertTrue(fields.path("b").path("texts").isObject());
  }

  @Test
  void belowTheDeepestLevelNothingIsKept() throws Exception {
    JsonShape shape = new JsonShape(settings(false));
    shape.add(parse("[".repeat(20) + "]".repeat(20)), 0, 1);
    String json = shape.toJson().toString();
    assertEquals(JsonShape.MAX_DEPTH, json.split("\"items\"", -1).length - 1);
  }

  @Test
  void tooManyPathsDropTheDeepestLevel() {
    JsonShape shape = new JsonShape(settings(false));
    var nodes = Json.MAPPER.getNodeFactory();
    for (int offset = 0; offset < 10_000; offset++) {
      ObjectNode inner = nodes.objectNode();
      inner.putObject("b" + offset % 100).put("c" + offset / 100, 1);
      shape.add(nodes.objectNode().set("a", inner), 0, offset);
    }
    JsonNode json = shape.toJson();
    assertEquals(2, json.path("max_depth").asInt());
    assertEquals(100, json.path("fields").path("a").path("fields").size());
    assertFalse(json.toString().contains("\"c1\""));
  }

  @Test
  void formatsAcceptNoDateThatIsNoDate() {
    assertTrue(StringFormat.DATE.matches("2024-01-31"));
    assertFalse(StringFormat.DATE.matches("2023-02-30"));
    assertFalse(StringFormat.DATE_TIME.matches("2024-04-31T00:00:00Z"));
    assertTrue(StringFormat.DATE_TIME.matches("2024-12-31T23:59:59.5+02:00"));
    assertTrue(StringFormat.IPV4.matches("10.0.255.1"));
    assertFalse(StringFormat.IPV4.matches("10.0.256.1"));
    assertFalse(StringFormat.EMAIL.matches("a..b@c.de"));
    assertTrue(StringFormat.UUID.matches("123e4567-e89b-12d3-a456-426614174000"));
    assertFalse(StringFormat.URI.matches("a b://c"));
  }
}
