package io.topicwarden.reader.codecs;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.topicwarden.reader.Json;
import java.util.HashMap;
import java.util.Map;

/** The contracts of the topics that a task reads, built on first use. Used by one thread. */
public final class Contracts {
  /**
   * The contract of one topic.
   *
   * @param partitions the number of partitions of the topic, or 0 if key placement is not checked
   * @param maxLateMs how much older than the newest earlier record a record may be
   * @param records the contract of the records, or null if there is none
   * @param maxOffsets how many offsets of each fault are kept
   * @param arrivalMs the length of the intervals by which records are counted, or 0
   * @param personal see {@link io.topicwarden.reader.personal.PersonalFields}; null if values are
   *     not JSON
   */
  public record TopicContract(
      int partitions,
      long maxLateMs,
      RecordContract records,
      int maxOffsets,
      long arrivalMs,
      JsonNode personal) {
    static final TopicContract NONE =
        new TopicContract(0, Long.MAX_VALUE, null, FaultCounts.MAX_OFFSETS, 0, null);
  }

  private final JsonNode declared;
  private final SchemaRegistryClient registry;
  private final LastJson last;
  private final Map<String, TopicContract> byTopic = new HashMap<>();

  /**
   * Parses the options {@code contracts} and {@code registry}. Either may be null.
   *
   * @param contracts an object by topic name with {@code partitions}, {@code late} (ms), {@code
   *     records} (see {@link RecordContract}), {@code offsets} (of each fault), {@code arrival}
   *     (ms) and {@code personal}, all optional
   * @param registry see {@link SchemaRegistryClient}
   */
  public Contracts(String contracts, String registry) {
    this(contracts, registry, null);
  }

  /** Creates contracts whose records other rules parse, too: {@code last} keeps their JSON. */
  public Contracts(String contracts, String registry, LastJson last) {
    this.last = last;
    try {
      this.declared = Json.MAPPER.readTree(contracts == null ? "{}" : contracts);
      this.registry =
          registry == null ? null : new SchemaRegistryClient(Json.MAPPER.readTree(registry));
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("the contracts are not JSON", error);
    }
  }

  /** Returns the contract of a topic; an empty contract if nothing is declared. */
  public TopicContract forTopic(String topic) {
    return byTopic.computeIfAbsent(topic, this::parse);
  }

  private TopicContract parse(String topic) {
    JsonNode contract = declared.path(topic);
    if (contract.isMissingNode()) {
      return TopicContract.NONE;
    }
    return new TopicContract(
        contract.path("partitions").asInt(),
        contract.path("late").asLong(Long.MAX_VALUE),
        contract.has("records")
            ? new RecordContract(contract.path("records"), registry, last)
            : null,
        contract.path("offsets").asInt(FaultCounts.MAX_OFFSETS),
        contract.path("arrival").asLong(),
        contract.get("personal"));
  }
}
