package io.topicwarden.reader.counting;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.topicwarden.reader.Json;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;

/** The partition ids of one audit, by topic id and partition. */
final class PartitionIds implements Serializable {
  /** The id of a partition that the audit does not select. */
  static final int NOT_SELECTED = -1;

  private static final long serialVersionUID = 1;

  private final Map<String, HashMap<Integer, Integer>> byTopicId = new HashMap<>();
  private transient byte[] lastTopicId; // most rows have the topic of the row before
  private transient Map<Integer, Integer> last;

  /** Parses {@code [[topic id, partition, partition id], …]}. */
  PartitionIds(String json) {
    try {
      for (JsonNode entry : Json.MAPPER.readTree(json)) {
        byTopicId
            .computeIfAbsent(entry.path(0).asText(), any -> new HashMap<>())
            .put(entry.path(1).asInt(), entry.path(2).asInt());
      }
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("the partition ids are not JSON", error);
    }
  }

  /** Returns the id of a partition, or {@link #NOT_SELECTED}. */
  int get(UTF8String topicId, int partition) {
    if (lastTopicId == null || !topicId.equals(UTF8String.fromBytes(lastTopicId))) {
      lastTopicId = topicId.getBytes();
      last = byTopicId.getOrDefault(topicId.toString(), new HashMap<>());
    }
    return last.getOrDefault(partition, NOT_SELECTED);
  }
}
