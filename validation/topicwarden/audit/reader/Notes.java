package topicwarden;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.record.TimestampType;

/** What was noticed in one range of a partition, in bounded memory; told as JSON when the range has been read. */
final class Notes {
  private static final int MOST_REASONS = 20;
  private static final int MOST_OFFSETS = 5;
  private static final long NO_GAP = -1;
  private static final String OTHER = "other reasons";
  /** In milliseconds 1973 and 5138: what lies outside counts seconds, or microseconds, or nanoseconds. */
  private static final long LEAST = 100_000_000_000L;
  private static final long MOST = 100_000_000_000_000L;
  private static final long MOST_MICROS = 100_000_000_000_000_000L;

  private record Cause(String rule, String reason, boolean undecided) {}

  private static final class Fault {
    final String excerpt;
    final long[] offsets = new long[MOST_OFFSETS];
    long count;

    Fault(String excerpt) {
      this.excerpt = excerpt;
    }
  }

  private final Map<Cause, Fault> faults = new LinkedHashMap<>();
  private final long late;
  private final long[] types = new long[TimestampType.values().length];
  private final long[] lastOfType = new long[types.length];
  private long highest = Long.MIN_VALUE;
  private long lowest = Long.MAX_VALUE;
  private long lowestOffset;
  private long next;
  private long lastGap = NO_GAP;

  /**
   * {@code start}: the first offset of the range; {@code late}: how much older than the largest timestamp before it a
   * record may be, in milliseconds.
   */
  Notes(long start, long late) {
    this.next = start;
    this.late = late;
  }

  void stamp(ConsumerRecord<byte[], byte[]> record) {
    long time = record.timestamp();
    int type = record.timestampType().ordinal();
    types[type]++;
    lastOfType[type] = record.offset();
    if (record.offset() != next) {
      lastGap = record.offset() - 1;
    }
    next = record.offset() + 1;
    if (time < 0) {
      return; // written before Kafka 0.10: none
    }
    if (time < LEAST || time > MOST) {
      String unit = time < LEAST ? "seconds" : time <= MOST_MICROS ? "microseconds" : "nanoseconds";
      fault("timestamp-unit", unit, "", false, record.offset());
    }
    if (late != Long.MAX_VALUE && highest != Long.MIN_VALUE && highest - time > late) {
      fault("timestamp-late", "older than declared", "", false, record.offset());
    }
    highest = Math.max(highest, time);
    if (time < lowest) {
      lowest = time;
      lowestOffset = record.offset();
    }
  }

  void fault(String rule, Malformed why, long offset) {
    fault(rule, why.getMessage(), why.excerpt, why.undecided, offset);
  }

  void fault(String rule, String reason, String excerpt, boolean undecided, long offset) {
    Cause cause = new Cause(rule, reason, undecided);
    Fault fault = faults.get(cause);
    if (fault == null) {
      if (faults.size() >= MOST_REASONS) {
        cause = new Cause(rule, OTHER, undecided);
      }
      fault = faults.computeIfAbsent(cause, any -> new Fault(excerpt));
    }
    if (fault.count < MOST_OFFSETS) {
      fault.offsets[(int) fault.count] = offset;
    }
    fault.count++;
  }

  /** The notes of {@code range}, with {@code last_gap}, the last of its offsets that holds no record, else null. */
  String told(OffsetRange range) {
    ObjectNode told = Json.MAPPER.createObjectNode();
    told.put("start", range.start());
    long gap = next < range.end() ? range.end() - 1 : lastGap;
    told.put("last_gap", gap == NO_GAP ? null : gap);
    if (highest != Long.MIN_VALUE) {
      told.put("highest", highest).put("lowest", lowest).put("lowest_offset", lowestOffset);
    }
    ObjectNode stamped = told.putObject("types");
    for (TimestampType type : TimestampType.values()) {
      if (types[type.ordinal()] > 0) {
        stamped.putArray(type.name).add(types[type.ordinal()]).add(lastOfType[type.ordinal()]);
      }
    }
    ArrayNode wrong = told.putArray("faults");
    faults.forEach((cause, fault) -> {
      ObjectNode one = wrong.addObject();
      one.put("rule", cause.rule()).put("reason", cause.reason()).put("excerpt", fault.excerpt);
      one.put("undecided", cause.undecided()).put("count", fault.count);
      ArrayNode offsets = one.putArray("offsets");
      for (int at = 0; at < Math.min(fault.count, MOST_OFFSETS); at++) {
        offsets.add(fault.offsets[at]);
      }
    });
    return told.toString();
  }
}
