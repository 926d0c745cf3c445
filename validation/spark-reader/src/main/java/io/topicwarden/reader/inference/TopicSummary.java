package io.topicwarden.reader.inference;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.topicwarden.reader.Json;
import io.topicwarden.reader.counting.KeyHash;
import io.topicwarden.reader.counting.Partitioners;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;

/**
 * What the records of one topic have in common, in bounded size. {@link #merge} is associative and
 * commutative, as that of {@link JsonShape}.
 */
public final class TopicSummary {
  static final int MAX_HEADERS = 50;
  static final int MAX_KEYS = 64;

  private final int partitionCount;
  private final Settings settings;
  private final Tally records = new Tally();
  private final EncodedSummary keys;
  private final EncodedSummary values;
  private Map<String, Tally> headers = new TreeMap<>(); // null if there are too many names
  private final Tallies timestampTypes = new Tallies();
  private final Tallies sizes = new Tallies(); // by the smallest power of 2 that is not exceeded
  private final Tallies misplaced = new Tallies(); // by partitioner
  private final Tallies partitions = new Tallies();
  private final TreeSet<Long> keyHashes = new TreeSet<>(); // the smallest ones
  private long newestTimestamp = Long.MIN_VALUE;
  private long largestRecord;

  /** Creates the summary of a topic before its first record. */
  public TopicSummary(String topic, Settings settings) {
    this(
        settings.partitions().getOrDefault(topic, 0),
        settings,
        new EncodedSummary(settings),
        new EncodedSummary(settings));
  }

  private TopicSummary(
      int partitionCount, Settings settings, EncodedSummary keys, EncodedSummary values) {
    this.partitionCount = partitionCount;
    this.settings = settings;
    this.keys = keys;
    this.values = values;
  }

  /** Adds a committed record. */
  public void add(ConsumerRecord<byte[], byte[]> record) {
    int partition = record.partition();
    long offset = record.offset();
    partitions.of(Integer.toString(partition)).add(partition, offset);
    keys.add(record.key(), partition, offset);
    values.add(record.value(), partition, offset);
    timestampTypes.of(record.timestampType().name).add(partition, offset);
    newestTimestamp = Math.max(newestTimestamp, record.timestamp());
    long size = length(record.key()) + length(record.value());
    largestRecord = Math.max(largestRecord, size);
    sizes.of(Long.toString(roundedUp(size))).add(partition, offset);
    if (record.key() != null && partitionCount > 1) {
      addPlacement(record.key(), partition, offset);
    }
    addHeaders(record, partition, offset);
    records.add(partition, offset); // after the headers: new ones are missing before
  }

  private static long length(byte[] data) {
    return data == null ? 0 : data.length;
  }

  private static long roundedUp(long size) {
    return size <= 1 ? 1 : Long.highestOneBit(size - 1) << 1;
  }

  private void addPlacement(byte[] key, int partition, long offset) {
    int fits = Partitioners.fits(key, partition, partitionCount);
    for (int i = 0; i < Partitioners.NAMES.size(); i++) {
      String name = Partitioners.NAMES.get(i);
      // librdkafka's consistent_random puts an empty key into any partition, like no key.
      boolean anywhere = key.length == 0 && name.equals("crc32");
      if ((fits & 1 << i) == 0 && !anywhere) {
        misplaced.of(name).add(partition, offset);
      }
    }
    addKeyHash(KeyHash.of(key));
  }

  private void addKeyHash(long hash) {
    if (keyHashes.size() < MAX_KEYS || hash < keyHashes.last()) {
      keyHashes.add(hash);
      if (keyHashes.size() > MAX_KEYS) {
        keyHashes.pollLast();
      }
    }
  }

  /** Counts the records without each header, as {@link JsonShape} does for fields. */
  private void addHeaders(ConsumerRecord<byte[], byte[]> record, int partition, long offset) {
    if (headers == null) {
      return;
    }
    for (Header header : record.headers()) {
      if (!headers.containsKey(header.key()) && !settings.isData(header.key())) {
        Tally missing = new Tally();
        missing.add(records);
        headers.put(header.key(), missing);
      }
    }
    headers.forEach(
        (name, missing) -> {
          if (record.headers().lastHeader(name) == null) {
            missing.add(partition, offset);
          }
        });
    limitHeaders();
  }

  private void limitHeaders() {
    if (headers != null && headers.size() > MAX_HEADERS) {
      headers = null;
    }
  }

  private void merge(TopicSummary other) {
    mergeHeaders(other);
    records.add(other.records);
    keys.merge(other.keys);
    values.merge(other.values);
    timestampTypes.add(other.timestampTypes, null);
    sizes.add(other.sizes, null);
    misplaced.add(other.misplaced, null);
    partitions.add(other.partitions, null);
    other.keyHashes.forEach(this::addKeyHash);
    newestTimestamp = Math.max(newestTimestamp, other.newestTimestamp);
    largestRecord = Math.max(largestRecord, other.largestRecord);
  }

  private void mergeHeaders(TopicSummary other) {
    if (headers == null || other.headers == null) {
      headers = null;
      return;
    }
    headers.forEach(
        (name, missing) -> missing.add(other.headers.getOrDefault(name, other.records)));
    other.headers.forEach(
        (name, missing) -> {
          if (!headers.containsKey(name)) {
            Tally own = new Tally();
            own.add(records);
            own.add(missing);
            headers.put(name, own);
          }
        });
    limitHeaders();
  }

  /** Returns the summary as JSON. */
  public ObjectNode toJson() {
    ObjectNode json = Json.MAPPER.createObjectNode();
    records.writeTo(json, "records");
    json.set("key", keys.toJson());
    json.set("value", values.toJson());
    if (headers == null) {
      json.putNull("headers");
    } else {
      ObjectNode byName = json.putObject("headers");
      headers.forEach((name, missing) -> missing.writeTo(byName.putObject(name), "missing"));
    }
    timestampTypes.writeTo(json, "timestamp_types");
    sizes.writeTo(json, "sizes");
    misplaced.writeTo(json, "misplaced");
    partitions.writeTo(json, "partitions");
    keyHashes.forEach(json.withArray("key_hashes")::add);
    json.put("newest", newestTimestamp).put("largest", largestRecord);
    return json;
  }

  private static TopicSummary from(JsonNode json, Settings settings) {
    TopicSummary summary =
        new TopicSummary(
            0,
            settings,
            EncodedSummary.from(json.path("key"), settings),
            EncodedSummary.from(json.path("value"), settings));
    summary.records.add(Tally.from(json.path("records")));
    if (json.path("headers").isNull()) {
      summary.headers = null;
    } else {
      for (Map.Entry<String, JsonNode> each : json.path("headers").properties()) {
        summary.headers.put(each.getKey(), Tally.from(each.getValue().path("missing")));
      }
    }
    summary.timestampTypes.add(Tallies.from(json.path("timestamp_types")), null);
    summary.sizes.add(Tallies.from(json.path("sizes")), null);
    summary.misplaced.add(Tallies.from(json.path("misplaced")), null);
    summary.partitions.add(Tallies.from(json.path("partitions")), null);
    json.path("key_hashes").forEach(hash -> summary.keyHashes.add(hash.asLong()));
    summary.newestTimestamp = json.path("newest").asLong();
    summary.largestRecord = json.path("largest").asLong();
    return summary;
  }

  /**
   * Merges the summaries of one topic, and finishes them: see {@link JsonShape#finish}.
   *
   * @param summaries at least one summary, as {@link #toJson} returns them
   * @param settings the option by which the records were summarised
   */
  public static String merge(List<String> summaries, String settings) {
    try {
      Settings parsed = Settings.parse(settings);
      TopicSummary merged = null;
      for (String each : summaries) {
        TopicSummary summary = from(Json.MAPPER.readTree(each), parsed);
        if (merged == null) {
          merged = summary;
        } else {
          merged.merge(summary);
        }
      }
      merged.keys.finish();
      merged.values.finish();
      return merged.toJson().toString();
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("a summary is not JSON", error);
    }
  }
}
