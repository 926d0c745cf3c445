package topicwarden;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.unsafe.types.UTF8String;

/** The numbers by which an audit knows partitions, from JSON: {@code [[topic's id, partition, number], …]}. */
final class Places implements Serializable {
  static final int NONE = -1;
  private static final long serialVersionUID = 1;

  private final Map<String, HashMap<Integer, Integer>> numbers = new HashMap<>();
  private transient byte[] lastId; // most rows are of the topic of the row before
  private transient Map<Integer, Integer> last;

  Places(String json) {
    try {
      for (JsonNode one : Json.MAPPER.readTree(json)) {
        numbers.computeIfAbsent(one.path(0).asText(), any -> new HashMap<>())
            .put(one.path(1).asInt(), one.path(2).asInt());
      }
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("the partitions are not JSON", error);
    }
  }

  /** The number of a partition; {@link #NONE} where the audit is not asked for it. */
  int of(UTF8String topicId, int partition) {
    if (lastId == null || !topicId.equals(UTF8String.fromBytes(lastId))) {
      lastId = topicId.getBytes();
      last = numbers.getOrDefault(topicId.toString(), new HashMap<>());
    }
    return last.getOrDefault(partition, NONE);
  }
}
