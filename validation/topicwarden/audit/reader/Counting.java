package topicwarden;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import java.util.HashMap;
import java.util.Map;

/**
 * How records are counted, from JSON: {@code now}, the moment that ages are measured from; {@code bands}, their lower
 * bounds, all in milliseconds; {@code block}, the offsets that are counted together where nothing is counted by key,
 * and {@code bands_at_most}, by which a block's number is multiplied; {@code parts}, the {@link Borders} of each part.
 */
final class Counting {
  /**
   * Of one part: whether it is counted by key, and the borders that its records are counted by; {@code graves}, by the
   * hash of a key that was seen deleted, the offset of its tombstone.
   */
  record Borders(boolean byKey, long rolled, long cleanable, long expired, long future, Map<Long, Long> graves) {}

  final long block;
  final long bandsAtMost;
  private final long now;
  private final long[] bands;
  private final Map<Integer, Borders> parts = new HashMap<>();

  Counting(String json) {
    try {
      JsonNode told = Json.MAPPER.readTree(json);
      now = told.path("now").asLong();
      block = told.path("block").asLong();
      bandsAtMost = told.path("bands_at_most").asLong();
      bands = new long[told.path("bands").size()];
      for (int at = 0; at < bands.length; at++) {
        bands[at] = told.path("bands").path(at).asLong();
      }
      for (JsonNode part : told.path("parts")) {
        Borders borders = new Borders(
            part.path("by_key").asBoolean(),
            part.path("rolled_border").asLong(),
            part.path("cleanable_border").asLong(),
            part.path("expired_time").asLong(Long.MIN_VALUE), // without a retention nothing expires
            part.path("future_offset").asLong(Long.MAX_VALUE), // without such a record nothing lies behind it
            graves(part.path("graves")));
        parts.put(part.path("part").asInt(), borders);
      }
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("how to count is not JSON", error);
    }
  }

  private static Map<Long, Long> graves(JsonNode told) {
    Map<Long, Long> graves = new HashMap<>();
    told.forEach(one -> graves.put(one.path(0).asLong(), one.path(1).asLong()));
    return graves.isEmpty() ? Map.of() : graves;
  }

  Borders of(int part) {
    return parts.get(part);
  }

  /** The age band of a timestamp: 0 the future, then by the bounds. */
  int band(long time) {
    int band = 0;
    while (band < bands.length && now - time >= bands[band]) {
      band++;
    }
    return band;
  }
}
