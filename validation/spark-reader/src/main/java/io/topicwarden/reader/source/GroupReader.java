package io.topicwarden.reader.source;

import io.topicwarden.reader.codecs.Contracts;
import io.topicwarden.reader.counting.BlockCounts;
import io.topicwarden.reader.counting.CountingRules;
import io.topicwarden.reader.counting.GroupRow;
import io.topicwarden.reader.counting.SpillStorage;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Returns the counts group by group, to be stored or to be merged with those of other tasks: a row
 * for each age band of an offset block, a row with the summary of each range, then a row for each
 * key.
 */
class GroupReader extends CountingReader {
  private record Block(int partitionId, long group, BlockCounts counts) {}

  private final GroupRow row = new GroupRow();
  private final Deque<Block> blocks = new ArrayDeque<>();
  private RangeCursor lastSummarized;

  GroupReader(
      Map<String, Object> consumerSettings,
      List<OffsetRange> ranges,
      CountingRules rules,
      Contracts contracts,
      RateLimiter rateLimiter,
      SpillStorage spillStorage) {
    super(consumerSettings, ranges, rules, contracts, rules.blockSize(), rateLimiter, spillStorage);
  }

  @Override
  protected void onBlock(int partitionId, long block, int ageBand, BlockCounts counts) {
    blocks.add(new Block(partitionId, block * rules.maxAgeBands() + ageBand, counts));
  }

  @Override
  protected boolean hasRow() {
    Block block = blocks.poll();
    if (block == null) {
      return false;
    }
    row.writeBlock(block.partitionId(), block.group(), block.counts());
    return true;
  }

  @Override
  protected boolean onFinished(RangeCursor range) {
    closeLastBlock(range);
    if (hasRow()) {
      return true;
    }
    if (range == lastSummarized) {
      return false;
    }
    lastSummarized = range;
    row.writeSummary(range.range.partitionId(), range.summary.toJson());
    return true;
  }

  @Override
  protected boolean onEnd() throws IOException {
    if (keyTable == null || !keyTable.next()) {
      return false;
    }
    row.writeKey(keyTable);
    return true;
  }

  @Override
  public InternalRow get() {
    return row.row();
  }
}
