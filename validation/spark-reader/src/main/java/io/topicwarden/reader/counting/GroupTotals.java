package io.topicwarden.reader.counting;

import java.util.Iterator;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Row;

/** Adds up rows of {@link GroupRow#SCHEMA}, one for each group, to {@link PartitionTotals}. */
public final class GroupTotals implements MapPartitionsFunction<Row, String> {
  private static final long serialVersionUID = 1;

  private final String countingRules;

  /** Creates the function from the option {@code counting}. */
  public GroupTotals(String countingRules) {
    this.countingRules = countingRules;
  }

  @Override
  public Iterator<String> call(Iterator<Row> groups) {
    CountingRules rules = new CountingRules(countingRules);
    PartitionTotals totals = new PartitionTotals(rules);
    groups.forEachRemaining(
        group -> {
          int partitionId = group.getInt(GroupRow.PARTITION_ID);
          if (!group.isNullAt(GroupRow.SUMMARY)) {
            totals.addSummary(partitionId, group.getString(GroupRow.SUMMARY));
          } else if (group.getBoolean(GroupRow.IS_KEY)) {
            totals.addKey(GroupRow.keyOf(group));
          } else {
            BlockCounts counts = BlockCounts.readFrom(group);
            totals.addBlock(partitionId, rules.ageBand(counts.lastTimestamp()), counts);
          }
        });
    return totals.toJson();
  }
}
