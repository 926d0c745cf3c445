package io.topicwarden.reader.counting;

import java.util.Iterator;
import org.apache.spark.api.java.function.MapPartitionsFunction;
import org.apache.spark.sql.Row;

/**
 * Adds up rows of {@link GroupRow#SCHEMA}, one for each group, to {@link PartitionTotals}. A column
 * {@code read} may follow: how many records of an offset block this audit read itself.
 */
public final class GroupTotals implements MapPartitionsFunction<Row, String> {
  private static final long serialVersionUID = 1;
  private static final int RECORDS_READ = GroupRow.SCHEMA.size();

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
            if (group.size() > RECORDS_READ) {
              totals.addRecordsRead(partitionId, group.getLong(RECORDS_READ));
            }
          }
        });
    return totals.toJson();
  }
}
