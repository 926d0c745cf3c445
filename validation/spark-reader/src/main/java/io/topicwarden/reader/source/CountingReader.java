package io.topicwarden.reader.source;

import io.topicwarden.reader.codecs.Contracts;
import io.topicwarden.reader.counting.BlockCounts;
import io.topicwarden.reader.counting.CountingRules;
import io.topicwarden.reader.counting.CountingRules.PartitionRules;
import io.topicwarden.reader.counting.KeyHash;
import io.topicwarden.reader.counting.KeyTable;
import io.topicwarden.reader.counting.SpillStorage;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * Counts records while they are read, so that keys and values never enter Spark. Counts by offset
 * block and age band, and by key if the rules of the partition say so.
 */
abstract class CountingReader extends RangeReader {
  /** The counts of the offset block that is being read, by age band. */
  private static final class OpenBlock {
    final PartitionRules rules;
    final BlockCounts[] byAgeBand;
    long block = -1;

    OpenBlock(PartitionRules rules, int maxAgeBands) {
      this.rules = rules;
      this.byAgeBand = new BlockCounts[maxAgeBands];
    }
  }

  protected final CountingRules rules;

  /** The counts by key, or null if no record has been counted by key. */
  protected KeyTable keyTable;

  private final SpillStorage spillStorage;
  private final long totalOffsets;
  private final Map<RangeCursor, OpenBlock> openBlocks = new HashMap<>();
  private RangeCursor current;
  private OpenBlock open;

  CountingReader(
      Map<String, Object> consumerSettings,
      List<OffsetRange> ranges,
      CountingRules rules,
      Contracts contracts,
      long blockSize,
      RateLimiter rateLimiter,
      SpillStorage spillStorage) {
    super(consumerSettings, ranges, true, contracts, blockSize, rateLimiter);
    this.rules = rules;
    this.spillStorage = spillStorage;
    this.totalOffsets = ranges.stream().mapToLong(range -> range.end() - range.start()).sum();
  }

  @Override
  protected boolean onRecord(ConsumerRecord<byte[], byte[]> record) throws IOException {
    select(cursor);
    byte[] key = record.key();
    byte[] value = record.value();
    int bytes = (key == null ? 0 : key.length) + (value == null ? 0 : value.length);
    if (key != null && open.rules.byKey()) {
      if (keyTable == null) {
        keyTable = new KeyTable(totalOffsets, spillStorage);
      }
      keyTable.add(
          cursor.range.partitionId(),
          KeyHash.of(key),
          record,
          bytes,
          open.rules,
          cursor.contract.partitions());
    }
    long block = Math.floorDiv(record.offset(), rules.blockSize());
    if (block != open.block) {
      closeBlock();
      open.block = block;
    }
    int ageBand = rules.ageBand(record.timestamp());
    if (open.byAgeBand[ageBand] == null) {
      open.byAgeBand[ageBand] = new BlockCounts();
    }
    open.byAgeBand[ageBand].add(record, bytes, open.rules);
    return hasRow();
  }

  /** Passes on the counts of the last offset block of a range. */
  protected final void closeLastBlock(RangeCursor range) {
    select(range);
    closeBlock();
  }

  private void closeBlock() {
    for (int ageBand = 0; ageBand < open.byAgeBand.length; ageBand++) {
      if (open.byAgeBand[ageBand] != null) {
        onBlock(current.range.partitionId(), open.block, ageBand, open.byAgeBand[ageBand]);
        open.byAgeBand[ageBand] = null;
      }
    }
  }

  private void select(RangeCursor range) {
    if (range != current) {
      current = range;
      open =
          openBlocks.computeIfAbsent(
              range,
              any ->
                  new OpenBlock(
                      rules.forPartition(range.range.partitionId()), rules.maxAgeBands()));
    }
  }

  /** Receives the complete counts of one age band in an offset block. */
  protected abstract void onBlock(int partitionId, long block, int ageBand, BlockCounts counts);

  /** Makes the next row of the received counts; returns false if there is none. */
  protected abstract boolean hasRow();

  @Override
  public void close() throws IOException {
    try {
      super.close();
    } finally {
      if (keyTable != null) {
        keyTable.close();
      }
    }
  }
}
