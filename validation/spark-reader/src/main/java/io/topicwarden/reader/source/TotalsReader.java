package io.topicwarden.reader.source;

import io.topicwarden.reader.codecs.Contracts;
import io.topicwarden.reader.counting.BlockCounts;
import io.topicwarden.reader.counting.CountingRules;
import io.topicwarden.reader.counting.PartitionTotals;
import io.topicwarden.reader.counting.SpillStorage;
import java.io.IOException;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.unsafe.types.UTF8String;

/** Returns a row with the {@link PartitionTotals} of each partition, after all ranges were read. */
class TotalsReader extends CountingReader {
  private final PartitionTotals totals;
  private Iterator<String> results;
  private String current;

  TotalsReader(
      Map<String, Object> consumerSettings,
      List<OffsetRange> ranges,
      CountingRules rules,
      Contracts contracts,
      RateLimiter rateLimiter,
      SpillStorage spillStorage) {
    super(consumerSettings, ranges, rules, contracts, Long.MAX_VALUE, rateLimiter, spillStorage);
    totals = new PartitionTotals(rules);
  }

  @Override
  protected void onBlock(int partitionId, long block, int ageBand, BlockCounts counts) {
    totals.addBlock(partitionId, ageBand, counts);
  }

  @Override
  protected boolean hasRow() {
    return false;
  }

  @Override
  protected boolean onFinished(RangeCursor range) {
    closeLastBlock(range);
    totals.addSummary(range.range.partitionId(), range.summary.toJson());
    return false;
  }

  @Override
  protected boolean onEnd() throws IOException {
    if (results == null) {
      while (keyTable != null && keyTable.next()) {
        totals.addKey(keyTable);
      }
      results = totals.toJson();
    }
    if (!results.hasNext()) {
      return false;
    }
    current = results.next();
    return true;
  }

  /** Returns the totals of a partition, after {@link #next()}. */
  String totals() {
    return current;
  }

  @Override
  public InternalRow get() {
    return new GenericInternalRow(new Object[] {UTF8String.fromString(current)});
  }
}
