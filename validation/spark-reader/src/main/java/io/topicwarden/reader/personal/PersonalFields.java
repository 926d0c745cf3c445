package io.topicwarden.reader.personal;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;

/**
 * Counts the fields of JSON values that look personal and are not declared so. Only looks at the
 * first {@link #SAMPLE} offsets of each block, so that the cost is bounded and does not depend on
 * the ranges in which a partition is read. A later audit needs the blocks to leave out records that
 * were deleted since.
 *
 * <p>Keeps names of fields only, and never one that looks like personal data itself.
 */
public final class PersonalFields {
  static final int SAMPLE = 64;
  static final int MAX_FIELDS = 50;
  static final String ANY_NAME = "*";

  private static final JsonFactory PARSERS =
      JsonFactory.builder()
          .disable(JsonFactory.Feature.FAIL_ON_SYMBOL_HASH_OVERFLOW)
          .disable(JsonFactory.Feature.INTERN_FIELD_NAMES) // records may have any number of names
          .build();
  private static final int MAX_BYTES = 1 << 16;
  private static final int MAX_NAME_LENGTH = 64;
  private static final int WIRE_FORMAT_BYTES = 5;

  private record Found(long block, String field, String kind) {}

  private final PersonalData detectors;
  private final Set<String> declared = new HashSet<>();
  private final long blockSize;
  private final Set<String> fields = new HashSet<>();
  private final Map<Found, Long> counts = new LinkedHashMap<>();
  private final Map<Long, Long> looked = new LinkedHashMap<>();

  /**
   * Creates the counts of an offset range.
   *
   * @param contract the {@code declared} fields, as paths such as {@code address.street}, and more
   *     {@code names} of fields that look personal
   */
  public PersonalFields(JsonNode contract, long blockSize) {
    Set<String> names = new HashSet<>();
    contract.path("names").forEach(name -> names.add(name.asText()));
    contract.path("declared").forEach(path -> declared.add(path.asText()));
    this.detectors = new PersonalData(names);
    this.blockSize = blockSize;
  }

  /** Looks at a value, which may be null. Whatever is not JSON is left out. */
  public void add(long offset, byte[] value) {
    if (value == null || value.length > MAX_BYTES || offset % blockSize >= SAMPLE) {
      return;
    }
    int from = value.length > WIRE_FORMAT_BYTES && value[0] == 0 ? WIRE_FORMAT_BYTES : 0;
    Map<String, String> found = new HashMap<>();
    try (JsonParser parser = PARSERS.createParser(value, from, value.length - from)) {
      scan(parser, found);
    } catch (IOException | RuntimeException invalid) { // the check value-schema reports it
      return;
    }
    long block = offset / blockSize;
    looked.merge(block, 1L, Long::sum);
    found.forEach(
        (field, kind) -> {
          if (fields.contains(field) || (fields.size() < MAX_FIELDS && fields.add(field))) {
            counts.merge(new Found(block, field, kind), 1L, Long::sum);
          }
        });
  }

  private void scan(JsonParser parser, Map<String, String> found) throws IOException {
    Deque<String> path = new ArrayDeque<>(); // the prefix and the name of each object around
    String prefix = "";
    String name = "";
    for (JsonToken token = parser.nextToken(); token != null; token = parser.nextToken()) {
      switch (token) {
        case START_OBJECT -> {
          path.push(prefix);
          path.push(name);
          prefix = join(prefix, name);
          name = "";
        }
        case END_OBJECT -> {
          name = path.pop();
          prefix = path.pop();
        }
        case FIELD_NAME -> name = safe(parser.currentName());
        case VALUE_STRING -> look(join(prefix, name), name, parser.getText(), found);
        case VALUE_NUMBER_INT -> look(join(prefix, name), name, "", found);
        default -> {}
      }
    }
  }

  /** Looks at a field; numbers come without text, because any long number may pass a checksum. */
  private void look(String field, String name, String text, Map<String, String> found) {
    if (!isDeclared(field)) {
      String kind = detectors.kind(name, text);
      if (kind != null) {
        found.putIfAbsent(field, kind);
      }
    }
  }

  private boolean isDeclared(String field) {
    for (String path = field; !path.isEmpty(); ) {
      if (declared.contains(path)) {
        return true;
      }
      int parent = path.lastIndexOf('.');
      path = parent < 0 ? "" : path.substring(0, parent);
    }
    return false;
  }

  private static String join(String prefix, String name) {
    return prefix.isEmpty() ? name : name.isEmpty() ? prefix : prefix + "." + name;
  }

  private String safe(String name) {
    return name.length() > MAX_NAME_LENGTH || detectors.kind("", name) != null ? ANY_NAME : name;
  }

  /** Appends arrays of block, field, kind and number of records; null for the records looked at. */
  public void writeTo(ArrayNode json) {
    looked.forEach((block, number) -> json.addArray().add(block).addNull().addNull().add(number));
    counts.forEach(
        (found, number) ->
            json.addArray().add(found.block).add(found.field).add(found.kind).add(number));
  }

  /** Returns whether no record was looked at. */
  public boolean isEmpty() {
    return looked.isEmpty();
  }
}
