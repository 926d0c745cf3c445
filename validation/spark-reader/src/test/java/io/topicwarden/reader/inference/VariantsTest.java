package io.topicwarden.reader.inference;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.topicwarden.reader.Json;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.Test;

class VariantsTest {
  private static final int PATHS_WITHOUT_OTHERS = 4;

  private static JsonNode toJson(Variants variants) {
    ObjectNode json = Json.MAPPER.createObjectNode();
    variants.writeTo(json, "variants");
    return json.path("variants");
  }

  private static Variants of(boolean showsValues, String... records) throws Exception {
    Variants variants = new Variants(JsonShapeTest.settings(showsValues));
    for (String record : records) {
      variants.add(Json.MAPPER.readTree(record));
    }
    return variants;
  }

  /** Returns a record; more and more properties stop being candidates with the offset. */
  private static JsonNode draw(Random random, int offset, int texts, int names) {
    ObjectNode record = Json.MAPPER.createObjectNode();
    String kind = "kind " + random.nextInt(texts);
    record.put("kind", kind).put("id", offset).put("k" + random.nextInt(names), offset);
    record.putObject("meta").put("type", random.nextInt(offset + 2) == 0 ? "x" + offset : "a");
    if (random.nextInt(400) > 0) {
      record.put("often", random.nextBoolean());
    }
    if (kind.endsWith("1")) {
      record.putObject("data").put("1042", 1).put("x/y", random.nextGaussian());
    }
    return random.nextInt(3_000) == 0 ? record.path("id") : record;
  }

  @Test
  void anySplitMergedInAnyOrderIsTheResultOfAllRecords() {
    Set<Integer> candidates = new HashSet<>();
    for (int seed = 0; seed < 60; seed++) {
      Random random = new Random(seed);
      Settings settings = JsonShapeTest.settings(seed % 2 == 0);
      int texts = 2 + random.nextInt(Variants.MAX_TEXTS);
      int names = seed % 3 == 0 ? 2 * Variants.MAX_PATHS : 3;
      Variants whole = new Variants(settings);
      List<Variants> parts = new ArrayList<>();
      for (int part = 0; part < 1 + random.nextInt(8); part++) {
        parts.add(new Variants(settings));
      }
      for (int offset = 0; offset < 400; offset++) {
        JsonNode record = draw(random, offset, texts, names);
        whole.add(record);
        parts.get(random.nextInt(parts.size())).add(record);
      }
      Collections.shuffle(parts, random);
      while (parts.size() > 1) {
        Variants right = parts.remove(random.nextInt(parts.size()));
        Variants left = parts.get(random.nextInt(parts.size()));
        left.merge(random.nextBoolean() ? right : Variants.from(toJson(right), settings));
      }
      assertEquals(toJson(whole).toString(), toJson(parts.get(0)).toString(), "seed " + seed);
      candidates.add(toJson(whole).size());
    }
    assertTrue(candidates.containsAll(Set.of(0, 1)), candidates.toString());
  }

  @Test
  void propertiesAreCountedByTheTextsOfCandidates() throws Exception {
    JsonNode found =
        toJson(
            of(
                true,
                "{\"kind\": \"a\", \"data\": {\"x\": 1, \"deep\": {\"y\": 1}}}",
                "{\"kind\": \"a\", \"data\": null}",
                "{\"kind\": \"b\", \"n\": \"1\"}"));
    assertEquals(
        "{\"/kind\":{"
            + "\"a\":{\"objects\":2,\"properties\":{\"/data\":[2,\"null\",\"object\"],"
            + "\"/data/deep\":[1,\"object\"],\"/data/x\":[1,\"integer\"],\"/kind\":[2,\"string\"]}},"
            + "\"b\":{\"objects\":1,\"properties\":{\"/kind\":[1,\"string\"],\"/n\":[1,\"string\"]}}}}",
        found.toString());
  }

  @Test
  void textsAreOnlyKeptOnRequestAndNeverIfTheyLookPersonal() throws Exception {
    String record =
        "{\"kind\": \"marked\", \"surname\": \"marked too\", \"passport\": {\"at\": \"marked too\"},"
            + " \"to\": \"marked@example.org\"}";
    Variants hidden = of(false, record, record);
    hidden.finish();
    assertFalse(toJson(hidden).toString().contains("marked"));
    Variants shown = of(true, record, record);
    shown.finish();
    assertEquals("[\"/kind\"]", "[\"" + String.join(", ", names(toJson(shown))) + "\"]");
    assertFalse(toJson(shown).toString().contains("marked too"));
    assertFalse(toJson(shown).toString().contains("example.org"));
  }

  private static List<String> names(JsonNode object) {
    List<String> names = new ArrayList<>();
    object.fieldNames().forEachRemaining(names::add);
    return names;
  }

  @Test
  void theSizeIsBounded() {
    Variants variants = new Variants(JsonShapeTest.settings(true));
    for (int record = 0; record < Variants.MAX_PATHS + PATHS_WITHOUT_OTHERS; record++) {
      variants.add(
          Json.MAPPER.createObjectNode().put("kind", "a").put("n" + (char) ('a' + record), 1));
    }
    assertEquals("{}", toJson(variants).toString());
  }
}
