package io.topicwarden.reader.counting;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.topicwarden.reader.Json;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The totals of each partition: its age bands, its keys and the summaries of its offset ranges. If
 * several tasks read one partition, {@code audit/scan/merge.py} merges their totals.
 */
public final class PartitionTotals {
  private static final class Totals {
    final Map<Integer, BlockCounts> ageBands = new TreeMap<>();
    final List<String> summaries = new ArrayList<>();
    KeyTotals keys;
  }

  private final CountingRules rules;
  private final Map<Integer, Totals> byPartitionId = new TreeMap<>();
  private int lastPartitionId = -1;
  private Totals last;

  public PartitionTotals(CountingRules rules) {
    this.rules = rules;
  }

  /** Adds the counts of an age band in an offset block. */
  public void addBlock(int partitionId, int ageBand, BlockCounts counts) {
    totals(partitionId).ageBands.computeIfAbsent(ageBand, any -> new BlockCounts()).add(counts);
  }

  /** Adds the summary of an offset range. */
  public void addSummary(int partitionId, String summary) {
    totals(partitionId).summaries.add(summary);
  }

  /** Adds the counts of a key. */
  public void addKey(KeyCounts key) {
    keys(key.partitionId()).add(key);
  }

  KeyTotals keys(int partitionId) {
    Totals totals = totals(partitionId);
    if (totals.keys == null) {
      totals.keys = new KeyTotals(rules.forPartition(partitionId));
    }
    return totals.keys;
  }

  private Totals totals(int partitionId) {
    if (partitionId != lastPartitionId) { // most calls are for the partition of the last one
      lastPartitionId = partitionId;
      last = byPartitionId.computeIfAbsent(partitionId, any -> new Totals());
    }
    return last;
  }

  /** Returns one JSON object for each partition. */
  public Iterator<String> toJson() {
    return byPartitionId.entrySet().stream()
        .map(partition -> toJson(partition.getKey(), partition.getValue()))
        .iterator();
  }

  /** Returns one line of JSON for each partition. */
  String toJsonLines() {
    return String.join("\n", (Iterable<String>) this::toJson);
  }

  private String toJson(int partitionId, Totals totals) {
    ObjectNode json = Json.MAPPER.createObjectNode();
    json.put("part", partitionId);
    ArrayNode bands = json.putArray("bands");
    totals.ageBands.forEach(
        (ageBand, counts) -> counts.writeTo(bands.addObject().put("band", ageBand)));
    ArrayNode summaries = json.putArray("notes");
    totals.summaries.forEach(summaries::add);
    if (rules.forPartition(partitionId).byKey()) {
      json.set("keys", keys(partitionId).toJson());
    }
    return json.toString();
  }
}
