package io.topicwarden.reader.inference;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.topicwarden.reader.Json;
import io.topicwarden.reader.counting.KeyHash;
import io.topicwarden.reader.personal.PersonalData;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/**
 * How records are summarised: the option {@code counting}, which {@code audit/scan/inference.py}
 * writes.
 *
 * @param showsValues whether summaries may have values of records: bounds and few distinct texts
 * @param salt text that makes the hashes of values useless outside of this run
 * @param personal recognises personal data
 * @param partitions the number of partitions by topic
 */
public record Settings(
    boolean showsValues, String salt, PersonalData personal, Map<String, Integer> partitions) {
  private static final int MAX_NAME_LENGTH = 64;
  private static final Pattern ID =
      Pattern.compile("[0-9.,:_-]+|(?=.*[0-9])[0-9a-fA-F-]{8,}|([^0-9]*[0-9]){5}.*");

  /** Parses the option. */
  public static Settings parse(String text) {
    try {
      JsonNode json = Json.MAPPER.readTree(text);
      List<String> names = new ArrayList<>();
      json.path("names").forEach(name -> names.add(name.asText()));
      Map<String, Integer> partitions = new HashMap<>();
      json.path("partitions")
          .properties()
          .forEach(each -> partitions.put(each.getKey(), each.getValue().asInt()));
      return new Settings(
          json.path("show_values").asBoolean(),
          json.path("salt").asText(),
          new PersonalData(names),
          partitions);
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("the settings of an inference are not JSON", error);
    }
  }

  /**
   * Returns whether a name is an id or looks like personal data: a part of the data, and not of its
   * structure. It depends on the name only, so that any order of records gives the same result.
   */
  boolean isData(String name) {
    return name.isEmpty()
        || name.length() > MAX_NAME_LENGTH
        || ID.matcher(name).matches()
        || looksPersonal(name);
  }

  /** Returns what a summary may keep of a text: itself, or a salted hash. */
  String kept(String text) {
    return showsValues
        ? text
        : Long.toHexString(KeyHash.of((salt + text).getBytes(StandardCharsets.UTF_8)));
  }

  /** Returns whether a field of this name looks personal. */
  boolean isPersonalName(String name) {
    return personal.kind(name, "") != null;
  }

  /** Returns whether a text looks like personal data. */
  boolean looksPersonal(String text) {
    return personal.kind("", text) != null;
  }

  /**
   * Returns whether a text has no half of a surrogate pair: JSON may have it, and UTF-8 may not.
   */
  static boolean isUnicode(String text) {
    return text.codePoints().noneMatch(each -> each >= 0xD800 && each <= 0xDFFF);
  }
}
