package io.topicwarden.reader.codecs;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Counts faults by rule and reason, in bounded memory: the first offsets of each reason are kept.
 */
public final class FaultCounts {
  static final int MAX_REASONS = 20;
  static final int MAX_OFFSETS = 5;
  static final String OTHER_REASONS = "other reasons";
  private static final long NONE = -1;

  private record Cause(String rule, String reason, boolean undecidable) {}

  private static final class Occurrences {
    final String excerpt;
    long[] firstOffsets = new long[MAX_OFFSETS];
    long count;
    long lastOffset = NONE; // only of records that are added with a timestamp
    long newestTimestamp = NONE;

    Occurrences(String excerpt) {
      this.excerpt = excerpt;
    }
  }

  private final int maxOffsets;
  private final Map<Cause, Occurrences> faults = new LinkedHashMap<>();

  public FaultCounts() {
    this(MAX_OFFSETS);
  }

  /** Creates counts that keep the first {@code maxOffsets} offsets of each reason. */
  public FaultCounts(int maxOffsets) {
    this.maxOffsets = maxOffsets;
  }

  /** Counts the record at {@code offset} as a fault of {@code rule}, a check's id. */
  public void add(String rule, String reason, long offset) {
    add(rule, reason, "", false, offset);
  }

  /** Counts a record that cannot be judged by {@code rule}, or if not undecidable, need not be. */
  public void add(String rule, String reason, long offset, boolean undecidable) {
    add(rule, reason, "", undecidable, offset);
  }

  void add(String rule, RecordFault fault, long offset) {
    add(rule, fault.getMessage(), fault.excerpt, fault.undecidable, offset);
  }

  /** Counts a record, and keeps the last offset and the highest timestamp of such records. */
  void add(String rule, RecordFault fault, long offset, long timestamp) {
    Occurrences occurrences =
        count(rule, fault.getMessage(), fault.excerpt, fault.undecidable, offset);
    occurrences.lastOffset = offset;
    occurrences.newestTimestamp = Math.max(occurrences.newestTimestamp, timestamp);
  }

  void add(String rule, String reason, String excerpt, boolean undecidable, long offset) {
    count(rule, reason, excerpt, undecidable, offset);
  }

  private Occurrences count(
      String rule, String reason, String excerpt, boolean undecidable, long offset) {
    Cause cause = new Cause(rule, reason, undecidable);
    Occurrences occurrences = faults.get(cause);
    if (occurrences == null) {
      if (faults.size() >= MAX_REASONS) {
        cause = new Cause(rule, OTHER_REASONS, undecidable);
      }
      occurrences = faults.computeIfAbsent(cause, any -> new Occurrences(excerpt));
    }
    if (occurrences.count < maxOffsets) {
      int next = (int) occurrences.count;
      if (next == occurrences.firstOffsets.length) {
        occurrences.firstOffsets = Arrays.copyOf(occurrences.firstOffsets, 2 * next);
      }
      occurrences.firstOffsets[next] = offset;
    }
    occurrences.count++;
    return occurrences;
  }

  /** Appends one object for each reason, in the order in which the reasons first occurred. */
  public void writeTo(ArrayNode json) {
    faults.forEach(
        (cause, occurrences) -> {
          ObjectNode fault = json.addObject();
          fault.put("rule", cause.rule()).put("reason", cause.reason());
          fault.put("excerpt", occurrences.excerpt).put("undecided", cause.undecidable());
          fault.put("count", occurrences.count);
          ArrayNode offsets = fault.putArray("offsets");
          for (int i = 0; i < Math.min(occurrences.count, maxOffsets); i++) {
            offsets.add(occurrences.firstOffsets[i]);
          }
          if (occurrences.lastOffset != NONE) {
            fault.put("last_offset", occurrences.lastOffset);
          }
          if (occurrences.newestTimestamp != NONE) {
            fault.put("newest", occurrences.newestTimestamp);
          }
        });
  }
}
