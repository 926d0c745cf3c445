package io.topicwarden.reader.counting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.topicwarden.reader.counting.CountingRules.PartitionRules;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class KeyTableTest {
  @TempDir Path folder;

  private final Storage storage = new Storage();

  private final class Storage implements SpillStorage {
    long spilled;
    int files;

    @Override
    public Path newFile() {
      return folder.resolve("spill-" + files++);
    }

    @Override
    public void onSpilled(long bytes) {
      spilled += bytes;
    }
  }

  private record Key(int partitionId, long hash) {}

  private record Counts(
      long records,
      long rolled,
      long cleanable,
      int largest,
      long first,
      long second,
      long last,
      boolean deleted,
      int fits) {
    static Counts of(KeyCounts key) {
      return new Counts(
          key.records(),
          key.rolled(),
          key.cleanable(),
          key.largestRecord(),
          key.firstOffset(),
          key.secondOffset(),
          key.lastOffset(),
          key.isDeleted(),
          key.fits());
    }

    static Counts add(Counts before, ConsumerRecord<byte[], byte[]> record, PartitionRules rules) {
      Counts old =
          before == null
              ? new Counts(0, 0, 0, 0, record.offset(), KeyCounts.NO_OFFSET, 0, false, -1)
              : before;
      return new Counts(
          old.records + 1,
          old.rolled + (record.offset() < rules.rolledBefore() ? 1 : 0),
          old.cleanable + (record.offset() < rules.cleanableBefore() ? 1 : 0),
          Math.max(old.largest, Records.size(record)),
          old.first,
          old.records == 1 ? record.offset() : old.second,
          record.offset(),
          record.value() == null,
          old.fits);
    }
  }

  private static Map<Key, Counts> contents(KeyTable table) throws IOException {
    Map<Key, Counts> contents = new HashMap<>();
    while (table.next()) {
      Counts twice = contents.put(new Key(table.partitionId(), table.hash()), Counts.of(table));
      assertEquals(null, twice, "a key came twice");
    }
    assertFalse(table.next());
    return contents;
  }

  /** Compares with a map, for few and many keys, with one and with many hash partitions. */
  @ParameterizedTest
  @CsvSource({
    "100000, 300000, 1", // more keys than a hash partition is meant for
    "1, 1000, 1",
    "100, 20000, 1",
    "5000, 20000, 1000000",
    "60000, 150000, 1",
    "60000, 150000, 400000",
    "60000, 150000, 100000000",
    "400000, 1250000, 400000"
  })
  void countsEveryKeyAsAMapWould(int keys, int records, long expectedRecords) throws IOException {
    Random random = new Random(keys);
    PartitionRules rules = Records.rules(records / 2, records / 4, Long.MIN_VALUE, Long.MAX_VALUE);
    Map<Key, Counts> expected = new HashMap<>();
    try (KeyTable table = new KeyTable(expectedRecords, storage)) {
      for (int offset = 0; offset < records; offset++) {
        int partitionId = random.nextInt(3);
        int number = random.nextInt(keys);
        // Also hashes that share all low or all high bits.
        long hash = number % 3 == 0 ? number : number % 3 == 1 ? (long) number << 44 : mix(number);
        String value = random.nextInt(4) == 0 ? null : "x".repeat(random.nextInt(50));
        ConsumerRecord<byte[], byte[]> record = Records.record(offset, 0, "key", value);
        table.add(partitionId, hash, record, Records.size(record), rules, 0);
        expected.merge(
            new Key(partitionId, hash),
            Counts.add(null, record, rules),
            (before, any) -> Counts.add(before, record, rules));
      }
      assertEquals(expected, contents(table));
    }
    if (keys > 5_000) {
      assertTrue(storage.spilled > 0);
    }
  }

  private static long mix(long number) {
    return number * 0x9E3779B97F4A7C15L;
  }

  @Test
  void aFewKeysAreNotSpilled() throws IOException {
    try (KeyTable table = new KeyTable(1_000_000, storage)) {
      for (int offset = 0; offset < 100_000; offset++) {
        table.add(0, offset % 99, Records.record(offset, 0, "k", ""), 1, Records.NO_RULES, 0);
      }
      assertEquals(99, contents(table).size());
    }
    assertEquals(0, storage.spilled);
  }

  @Test
  void anEmptyTableHasNoKeys() throws IOException {
    try (KeyTable table = new KeyTable(0, storage)) {
      assertFalse(table.next());
    }
  }

  @Test
  void partitionersAreKeptForTheFirstRecord() throws IOException {
    byte[] key = Records.bytes("a");
    int fits = Partitioners.fits(key, 0, 7);
    try (KeyTable table = new KeyTable(1, storage)) {
      for (int offset = 0; offset < 3; offset++) {
        table.add(0, 5, Records.record(offset, 0, "a", "v"), 2, Records.NO_RULES, 7);
      }
      assertTrue(table.next());
      assertEquals(fits, table.fits());
    }
  }

  @Test
  void theSpillFileIsDeletedAndReported() throws IOException {
    KeyTable table = new KeyTable(1, storage);
    try {
      for (int offset = 0; offset < 20_000; offset++) {
        table.add(0, mix(offset), Records.record(offset, 0, "k", "v"), 2, Records.NO_RULES, 0);
      }
      assertEquals(1, storage.files);
      assertTrue(storage.spilled > 0);
    } finally {
      table.close();
    }
    try (Stream<Path> left = Files.list(folder)) {
      assertEquals(0, left.count());
    }
  }

  @Test
  void theLargestPartitionIdAndOffsetFit() throws IOException {
    int partitionId = (1 << 25) - 1;
    long offset = 1L << 59;
    try (KeyTable table = new KeyTable(1, storage)) {
      table.add(
          partitionId, -1, Records.record(offset, 0, "k", null), 1 << 30, Records.NO_RULES, 0);
      assertTrue(table.next());
      assertEquals(partitionId, table.partitionId());
      assertEquals(offset, table.firstOffset());
      assertEquals(KeyCounts.NO_OFFSET, table.secondOffset());
      assertEquals(offset, table.lastOffset());
      assertEquals(1 << 30, table.largestRecord());
      assertTrue(table.isDeleted());
      assertEquals(Partitioners.NOT_CHECKED, table.fits());
    }
  }
}
