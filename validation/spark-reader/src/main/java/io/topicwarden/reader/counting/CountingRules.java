package io.topicwarden.reader.counting;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.topicwarden.reader.Json;
import java.util.HashMap;
import java.util.Map;

/**
 * How records are counted: the option {@code counting}, which {@code audit/scan/partition_reads.py}
 * writes.
 */
public final class CountingRules {
  /**
   * The rules of one partition.
   *
   * @param byKey whether records are also counted by key
   * @param rolledBefore records below this offset are in rolled segments
   * @param cleanableBefore records below this offset may be compacted
   * @param expiredBefore records with a smaller timestamp (ms) have expired
   * @param futureOffset the first offset whose timestamp is in the future: expired records behind
   *     it stay in the log
   * @param knownTombstones offsets of tombstones that an earlier audit saw as the last record of a
   *     key, by key hash
   */
  public record PartitionRules(
      boolean byKey,
      long rolledBefore,
      long cleanableBefore,
      long expiredBefore,
      long futureOffset,
      Map<Long, Long> knownTombstones) {}

  private final long blockSize;
  private final int maxAgeBands;
  private final long now;
  private final long[] ageBandBounds;
  private final Map<Integer, PartitionRules> byPartitionId = new HashMap<>();

  /** Parses the option {@code counting}. */
  public CountingRules(String json) {
    try {
      JsonNode rules = Json.MAPPER.readTree(json);
      now = rules.path("now").asLong();
      blockSize = rules.path("block").asLong();
      maxAgeBands = rules.path("bands_at_most").asInt();
      JsonNode bounds = rules.path("bands");
      ageBandBounds = new long[bounds.size()];
      for (int i = 0; i < ageBandBounds.length; i++) {
        ageBandBounds[i] = bounds.path(i).asLong();
      }
      for (JsonNode partition : rules.path("parts")) {
        byPartitionId.put(partition.path("part").asInt(), partitionRules(partition));
      }
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("the counting rules are not JSON", error);
    }
  }

  private static PartitionRules partitionRules(JsonNode json) {
    Map<Long, Long> knownTombstones = new HashMap<>();
    json.path("graves")
        .forEach(pair -> knownTombstones.put(pair.path(0).asLong(), pair.path(1).asLong()));
    return new PartitionRules(
        json.path("by_key").asBoolean(),
        json.path("rolled_border").asLong(),
        json.path("cleanable_border").asLong(),
        json.path("expired_time").asLong(Long.MIN_VALUE), // without retention nothing expires
        json.path("future_offset").asLong(Long.MAX_VALUE),
        Map.copyOf(knownTombstones));
  }

  /** Returns the number of offsets in an offset block. */
  public long blockSize() {
    return blockSize;
  }

  /**
   * Returns an upper bound of the number of age bands. A group's number is the offset block times
   * this bound, plus the age band.
   */
  public int maxAgeBands() {
    return maxAgeBands;
  }

  /** Returns the rules of a partition. */
  public PartitionRules forPartition(int partitionId) {
    return byPartitionId.get(partitionId);
  }

  /**
   * Returns the age band of a timestamp (ms): 0 is the future, higher bands are older, and the last
   * band is for records without a timestamp.
   */
  public int ageBand(long timestamp) {
    if (timestamp < 0) {
      return ageBandBounds.length + 1;
    }
    int band = 0;
    while (band < ageBandBounds.length && now - timestamp >= ageBandBounds[band]) {
      band++;
    }
    return band;
  }
}
