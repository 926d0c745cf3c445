package topicwarden;

import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.unsafe.Platform;

/**
 * Counts while it reads, so that keys and values stay here: records by age band and block of offsets, and, where that
 * is asked for, by key.
 */
abstract class CountingReader extends RangeReader {
  private static final long SEED = 42; // of Spark's xxhash64

  /** What is counted of one range and not told yet. */
  private static final class Open {
    final Counting.Borders borders;
    final Block[] bands;
    long block = -1;

    Open(Counting.Borders borders, int bands) {
      this.borders = borders;
      this.bands = new Block[bands];
    }
  }

  protected final Counting counting;
  protected Keys keys;
  private final long offsets;
  private final Map<Cursor, Open> opened = new HashMap<>();
  private Cursor at;
  private Open open;

  CountingReader(
      Map<String, Object> settings, List<OffsetRange> ranges, Counting counting, Contracts contracts, Pace pace) {
    super(settings, ranges, true, contracts, pace);
    this.counting = counting;
    this.offsets = ranges.stream().mapToLong(range -> range.end() - range.start()).sum();
  }

  @Override
  protected boolean taken(ConsumerRecord<byte[], byte[]> record) throws IOException {
    turnTo(cursor);
    byte[] key = record.key();
    byte[] value = record.value();
    int bytes = (key == null ? 0 : key.length) + (value == null ? 0 : value.length);
    if (key != null && open.borders.byKey()) {
      if (keys == null) {
        keys = new Keys(offsets);
      }
      long hash = XXH64.hashUnsafeBytes(key, Platform.BYTE_ARRAY_OFFSET, key.length, SEED);
      keys.add(cursor.range.part(), hash, record, bytes, open.borders, cursor.terms.partitions());
    }
    long block = Math.floorDiv(record.offset(), counting.block);
    if (block != open.block) {
      leave();
      open.block = block;
    }
    int band = counting.band(record.timestamp());
    if (open.bands[band] == null) {
      open.bands[band] = new Block();
    }
    open.bands[band].add(record, bytes, open.borders);
    return ready();
  }

  /** Gives away what was counted of the last block of a range: it is complete, as offsets only grow. */
  protected final void leave(Cursor one) {
    turnTo(one);
    leave();
  }

  private void leave() {
    for (int band = 0; band < open.bands.length; band++) {
      if (open.bands[band] != null) {
        counted(at.range.part(), open.block, band, open.bands[band]);
        open.bands[band] = null;
      }
    }
  }

  private void turnTo(Cursor one) {
    if (one != at) {
      at = one;
      open = opened.computeIfAbsent(one, any ->
          new Open(counting.of(one.range.part()), (int) counting.bandsAtMost));
    }
  }

  /** Takes what was counted of the records of one age band in a block of a part. */
  protected abstract void counted(int part, long number, int band, Block block);

  /** Makes a row of what was counted, where there is one; false where there is none. */
  protected abstract boolean ready();

  @Override
  public void close() throws IOException {
    try {
      super.close();
    } finally {
      if (keys != null) {
        keys.close();
      }
    }
  }
}
