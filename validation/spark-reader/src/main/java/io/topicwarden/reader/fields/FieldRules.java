package io.topicwarden.reader.fields;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.topicwarden.reader.Json;
import io.topicwarden.reader.codecs.Decoder;
import io.topicwarden.reader.codecs.LastJson;
import io.topicwarden.reader.codecs.RecordFault;
import io.topicwarden.reader.fields.FieldPath.Found;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;

/**
 * The rules that compare the records of a topic with each other: the option {@code fields}, which
 * {@code audit/scan/compared_rules.py} writes. Used by one thread.
 */
public final class FieldRules {
  /** Receives what a rule needs of a record. */
  public interface Output {
    /**
     * Receives the identity by which a rule groups records, and a value to compare.
     *
     * @param value a canonical value, or null
     */
    void add(Rule rule, byte[] identity, byte[] value);

    /** Receives why a rule does not judge a record. */
    void unjudged(int rule, String reason, boolean undecidable);
  }

  private static final byte[] PRESENT = {};

  /** What a rule compares. */
  public enum Kind {
    ORDERED,
    UNIQUE,
    REFERENCES,
    REFERENCED
  }

  /**
   * A part of an identity; at most one of both is not null. Without any, it is the record's key.
   */
  record Part(FieldPath field, String header) {}

  /**
   * A rule.
   *
   * @param keys the format of the keys that are referred to, or null
   * @param strict whether an equal value breaks the order
   * @param oldBefore references with a smaller timestamp (ms) are judged
   * @param within the most milliseconds between records that may not have the same identity; -1 if
   *     no two records may
   * @param buckets into how many buckets identities are divided; 0 if each record needs a row
   * @param selected the buckets whose records need a row; empty if all do
   */
  public record Rule(
      int number,
      Kind kind,
      List<Part> parts,
      String keys,
      boolean strict,
      long oldBefore,
      long within,
      int buckets,
      BitSet selected) {
    /** Returns whether a reference in a record of this time (ms) is judged. */
    public boolean isOld(long time) {
      return time >= 0 && time < oldBefore;
    }

    /**
     * Returns whether a record breaks the rule, given the record before it of the same identity; no
     * record breaks a reference.
     */
    public boolean isBroken(long time, byte[] value, long earlierTime, byte[] earlierValue) {
      return switch (kind) {
        case ORDERED -> {
          if (!haveOrder(earlierValue, value)) {
            yield false;
          }
          int order = Arrays.compareUnsigned(earlierValue, value);
          yield strict ? order >= 0 : order > 0;
        }
        case UNIQUE ->
            within < 0 || (time >= 0 && earlierTime >= 0 && time - earlierTime <= within);
        case REFERENCES, REFERENCED -> false;
      };
    }

    /** Returns whether two canonical values are of the same kind; others have no order. */
    public static boolean haveOrder(byte[] earlier, byte[] later) {
      return earlier != null && later != null && earlier[0] == later[0];
    }
  }

  private static final class TopicRules {
    final List<Rule> rules = new ArrayList<>();
    Decoder key; // null unless other records refer to the keys
    Decoder value;
  }

  private final Map<String, TopicRules> byTopic = new HashMap<>();
  private final boolean needsDigests;

  /**
   * Parses the rules.
   *
   * @param registry the option {@code registry}, or null
   * @param last the JSON that contracts parse, too, or null
   */
  public FieldRules(String json, String registry, LastJson last) {
    try {
      JsonNode parsed = Json.MAPPER.readTree(json);
      needsDigests = parsed.path("digests").asBoolean();
      for (Map.Entry<String, JsonNode> topic : parsed.path("topics").properties()) {
        TopicRules rules = new TopicRules();
        topic.getValue().path("rules").forEach(rule -> rules.rules.add(rule(rule)));
        JsonNode value = topic.getValue().path("value");
        rules.value = value.isEmpty() ? null : Decoder.of(value, registry, last);
        JsonNode key = topic.getValue().path("key");
        rules.key = key.isEmpty() ? null : Decoder.of(key, registry, last);
        byTopic.put(topic.getKey(), rules);
      }
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("the rules of fields are not JSON", error);
    }
  }

  /** Returns whether a rule concerns the records of a topic. */
  public boolean concern(String topic) {
    return byTopic.containsKey(topic);
  }

  /** Returns whether rows have digests, by which the identities of two records can be compared. */
  public boolean needsDigests() {
    return needsDigests;
  }

  /** Parses an array of rules, whose numbers are their places. */
  public static List<Rule> rules(String json) {
    try {
      List<Rule> rules = new ArrayList<>();
      Json.MAPPER.readTree(json).forEach(rule -> rules.add(rule(rule)));
      return rules;
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("the rules of fields are not JSON", error);
    }
  }

  private static Rule rule(JsonNode json) {
    List<Part> parts = new ArrayList<>();
    for (JsonNode part : json.path("parts")) {
      List<String> steps = new ArrayList<>();
      part.path("field").forEach(step -> steps.add(step.asText()));
      parts.add(
          new Part(
              steps.isEmpty() ? null : new FieldPath(steps), part.path("header").asText(null)));
    }
    Kind kind = Kind.valueOf(json.path("kind").asText());
    BitSet selected = new BitSet();
    json.path("selected").forEach(bucket -> selected.set(bucket.asInt()));
    return new Rule(
        json.path("rule").asInt(),
        kind,
        parts,
        json.path("keys").asText(null),
        json.path("strict").asBoolean(),
        json.path("old_before").asLong(),
        json.path("within").asLong(-1),
        json.path("buckets").asInt(),
        selected);
  }

  /** Applies each rule of the topic to a record, which is committed. */
  public void apply(ConsumerRecord<byte[], byte[]> record, Output output) {
    TopicRules topic = byTopic.get(record.topic());
    Object decoded = null;
    RecordFault fault = null;
    if (topic.value != null && record.value() != null) {
      try {
        decoded = topic.value.decodeValue(record);
      } catch (RecordFault unreadable) {
        fault = unreadable;
      }
    }
    for (Rule rule : topic.rules) {
      try {
        apply(rule, topic, record, decoded, fault, output);
      } catch (Unjudged reason) {
        output.unjudged(rule.number(), reason.getMessage(), false);
      } catch (RecordFault unreadable) {
        boolean undecidable = unreadable.isUndecidable();
        String reason = undecidable ? unreadable.getMessage() : "not in the declared format";
        output.unjudged(rule.number(), reason, undecidable);
      } catch (RuntimeException | StackOverflowError error) { // whose message may hold payload
        String kind = error.getClass().getSimpleName();
        output.unjudged(rule.number(), "cannot be compared: " + kind, true);
      }
    }
  }

  private static void apply(
      Rule rule,
      TopicRules topic,
      ConsumerRecord<byte[], byte[]> record,
      Object decoded,
      RecordFault fault,
      Output output)
      throws Unjudged, RecordFault {
    byte[] key = record.key();
    switch (rule.kind()) {
      case ORDERED -> {
        if (key == null) {
          throw new Unjudged("without a key");
        }
        // A tombstone ends the versions of its key: the next record may begin again.
        byte[] value =
            record.value() == null ? null : part(rule.parts().get(0), record, decoded, fault);
        output.add(rule, key, value);
      }
      case UNIQUE -> output.add(rule, identity(rule, record, decoded, fault), PRESENT);
      case REFERENCES -> {
        Found field = find(rule.parts().get(0), record, decoded, fault);
        output.add(rule, KeyReference.of(field, rule.keys()), PRESENT);
      }
      case REFERENCED -> {
        if (key != null) { // nothing can refer to a record without a key
          byte[] identity =
              KeyReference.of(new Found(topic.key.decodeKey(record), null), rule.keys());
          output.add(rule, identity, record.value() == null ? null : PRESENT);
        }
      }
    }
  }

  private static byte[] identity(
      Rule rule, ConsumerRecord<byte[], byte[]> record, Object decoded, RecordFault fault)
      throws Unjudged, RecordFault {
    byte[] identity = {};
    for (Part part : rule.parts()) {
      byte[] value = part(part, record, decoded, fault);
      byte[] longer = Arrays.copyOf(identity, identity.length + Integer.BYTES + value.length);
      ByteBuffer.wrap(longer, identity.length, longer.length - identity.length)
          .putInt(value.length) // so that no two identities are the same bytes
          .put(value);
      identity = longer;
    }
    return identity;
  }

  private static byte[] part(
      Part part, ConsumerRecord<byte[], byte[]> record, Object decoded, RecordFault fault)
      throws Unjudged, RecordFault {
    if (part.field() != null) {
      return CanonicalValue.of(find(part, record, decoded, fault));
    }
    if (part.header() != null) {
      Header header = record.headers().lastHeader(part.header());
      if (header == null) {
        throw new Unjudged("missing or null");
      }
      return CanonicalValue.of(header.value());
    }
    return CanonicalValue.of(record.key());
  }

  private static Found find(
      Part part, ConsumerRecord<byte[], byte[]> record, Object decoded, RecordFault fault)
      throws Unjudged, RecordFault {
    if (record.value() == null) {
      throw new Unjudged("without a value");
    }
    if (fault != null) {
      throw fault;
    }
    return part.field().find(decoded);
  }
}
