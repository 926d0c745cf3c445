package topicwarden;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Map;

/**
 * What topics' records are judged by, from JSON: an object a topic with {@code partitions} where the placement of keys
 * is asked for, {@code late} where lateness is bounded, and {@code records}, see {@link Contract}, where there are rules.
 */
final class Contracts {
  /** {@code partitions} is 0 where nobody asks where keys are; {@code contract} null where there are no rules. */
  record Terms(int partitions, long late, Contract contract) {}

  private static final Terms NONE = new Terms(0, Long.MAX_VALUE, null);

  private final JsonNode declared;
  private final Registry registry;
  private final Map<String, Terms> known = new HashMap<>();

  /** Of {@code contracts} and {@code registry} as JSON; either may be null. */
  Contracts(String contracts, String registry) {
    try {
      this.declared = Json.MAPPER.readTree(contracts == null ? "{}" : contracts);
      this.registry = registry == null ? null : new Registry(Json.MAPPER.readTree(registry));
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("the contracts are not JSON", error);
    }
  }

  Terms of(String topic) {
    return known.computeIfAbsent(topic, name -> {
      JsonNode held = declared.path(name);
      if (held.isMissingNode()) {
        return NONE;
      }
      Contract contract = held.has("records") ? new Contract(held.path("records"), registry) : null;
      return new Terms(held.path("partitions").asInt(), held.path("late").asLong(Long.MAX_VALUE), contract);
    });
  }
}
