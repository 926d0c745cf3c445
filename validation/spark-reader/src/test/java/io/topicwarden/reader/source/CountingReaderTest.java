package io.topicwarden.reader.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.topicwarden.reader.Json;
import io.topicwarden.reader.codecs.Contracts;
import io.topicwarden.reader.counting.CountingRules;
import io.topicwarden.reader.counting.GroupRow;
import io.topicwarden.reader.counting.GroupTotals;
import io.topicwarden.reader.counting.KeyHash;
import io.topicwarden.reader.counting.SpillStorage;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** The group reader and the totals reader, on the same records. */
class CountingReaderTest {
  private static final TopicPartition OTHER = new TopicPartition("other", 1);
  private static final List<OffsetRange> RANGES =
      List.of(new OffsetRange(0, TestConsumer.PARTITION, 0, 40), new OffsetRange(1, OTHER, 5, 25));
  private static final long NOW = TestConsumer.TIMESTAMP;
  private static final String RULES =
      """
      {"now": %d, "bands": [0, 1000], "block": 8, "bands_at_most": 16, "parts": [
        {"part": 0, "by_key": true, "rolled_border": 20, "cleanable_border": 10},
        {"part": 1, "by_key": false, "rolled_border": 0, "cleanable_border": 0}]}
      """
          .formatted(NOW);
  private static final String CONTRACTS =
      """
      {"topic": {"partitions": 1, "late": 100, "records": {"value": {"format": "int"}}}}
      """;

  private static final SpillStorage NO_SPILLS =
      new SpillStorage() {
        @Override
        public Path newFile() throws IOException {
          throw new IOException("no spills expected");
        }

        @Override
        public void onSpilled(long bytes) {}
      };

  /** Returns a consumer of two filled partitions. */
  private static TestConsumer consumer() {
    TestConsumer consumer = new TestConsumer();
    for (int offset = 0; offset < 40; offset += offset == 20 ? 3 : 1) {
      String key = offset % 10 == 9 ? null : "key-" + offset % 4;
      String value = offset % 7 == 6 ? null : "int!";
      consumer.addRecord(TestConsumer.PARTITION, offset, NOW - 10L * offset, key, value);
    }
    for (int offset = 5; offset < 25; offset++) {
      consumer.addRecord(OTHER, offset, NOW - 100L * offset, "k", "v");
    }
    return consumer;
  }

  private RateLimiter unlimited() {
    return new RateLimiter(0);
  }

  private List<String> totals() throws IOException {
    List<String> totals = new ArrayList<>();
    try (TotalsReader reader =
        new TotalsReader(
            Map.of(),
            RANGES,
            new CountingRules(RULES),
            new Contracts(CONTRACTS, null),
            unlimited(),
            NO_SPILLS) {
          @Override
          Consumer<byte[], byte[]> connect(Map<String, Object> settings) {
            return consumer();
          }
        }) {
      while (reader.next()) {
        totals.add(reader.get().getUTF8String(0).toString());
      }
    }
    return totals;
  }

  private List<Row> groups() throws IOException {
    List<Row> rows = new ArrayList<>();
    try (GroupReader reader =
        new GroupReader(
            Map.of(),
            RANGES,
            new CountingRules(RULES),
            new Contracts(CONTRACTS, null),
            unlimited(),
            NO_SPILLS) {
          @Override
          Consumer<byte[], byte[]> connect(Map<String, Object> settings) {
            return consumer();
          }
        }) {
      while (reader.next()) {
        rows.add(external(reader.get()));
      }
    }
    return rows;
  }

  private static Row external(InternalRow row) {
    Object[] values = new Object[GroupRow.SCHEMA.size()];
    for (int i = 0; i < values.length; i++) {
      Object value = row.isNullAt(i) ? null : row.get(i, GroupRow.SCHEMA.fields()[i].dataType());
      values[i] = value instanceof UTF8String ? value.toString() : value;
    }
    return RowFactory.create(values);
  }

  @Test
  void totalsDescribeEachPartition() throws IOException {
    List<String> totals = totals();
    assertEquals(2, totals.size());
    JsonNode first = Json.MAPPER.readTree(totals.get(0));
    JsonNode second = Json.MAPPER.readTree(totals.get(1));
    assertEquals(38, first.path("bands").path(0).path("records").asInt());
    assertEquals(4, first.path("keys").path("keys").asInt());
    assertEquals(4, first.path("keys").path("murmur2").asInt()); // of one partition
    assertEquals(34 - 4, first.path("keys").path("superseded").asInt());
    assertFalse(second.has("keys"));
    assertEquals(5, second.path("bands").path(0).path("records").asInt()); // younger than 1 s
    assertEquals(15, second.path("bands").path(1).path("records").asInt());
    JsonNode summary = Json.MAPPER.readTree(first.path("notes").path(0).asText());
    assertEquals(22, summary.path("last_gap").asInt());
    assertEquals("timestamp-late", summary.path("faults").path(0).path("rule").asText());
    assertEquals(1, summary.path("faults").size());
  }

  @Test
  void groupsAddUpToTheSameTotals() throws IOException {
    List<Row> groups = groups();
    List<String> added = new ArrayList<>();
    new GroupTotals(RULES).call(groups.iterator()).forEachRemaining(added::add);
    assertEquals(totals(), added);
  }

  @Test
  void rowsComeByBlockAndByKey() throws IOException {
    List<Row> groups = groups();
    List<Long> keys =
        groups.stream().filter(row -> row.getBoolean(2)).map(row -> row.getLong(3)).toList();
    assertEquals(
        List.of("key-0", "key-1", "key-2", "key-3").stream()
            .map(key -> KeyHash.of(TestConsumer.bytes(key)))
            .sorted()
            .toList(),
        keys.stream().sorted().toList());
    List<Row> summaries = groups.stream().filter(row -> !row.isNullAt(1)).toList();
    assertEquals(2, summaries.size());
    List<Long> blocks =
        groups.stream()
            .filter(row -> row.getInt(0) == 1 && row.isNullAt(1))
            .map(row -> row.getLong(3))
            .sorted(Comparator.naturalOrder())
            .toList();
    // Blocks 0 to 3 of eight offsets; the age changes at offset 10.
    assertEquals(List.of(1L, 17L, 18L, 34L, 50L), blocks);
    assertTrue(groups.indexOf(summaries.get(0)) < groups.size() - keys.size());
  }

  private List<Object[]> records(String... columns) throws IOException {
    List<Object[]> rows = new ArrayList<>();
    try (RecordReader reader =
        new RecordReader(Map.of(), RANGES, columns, new Contracts(CONTRACTS, null), unlimited()) {
          @Override
          Consumer<byte[], byte[]> connect(Map<String, Object> settings) {
            return consumer();
          }
        }) {
      while (reader.next()) {
        Object[] row = new Object[columns.length];
        for (int i = 0; i < columns.length; i++) {
          row[i] = reader.get().get(i, RecordReader.SCHEMA.apply(columns[i]).dataType());
        }
        rows.add(row);
      }
    }
    return rows;
  }

  @Test
  void recordsHaveTheSelectedColumns() throws IOException {
    List<Object[]> rows = records("part", "offset", "fits", "murmur2", "crc32", "fnv1a");
    assertEquals(58, rows.size());
    for (Object[] row : rows) {
      boolean keyed = row[0].equals(1) || (long) row[1] % 10 != 9;
      assertEquals(keyed, row[3] != null);
      assertEquals(keyed, row[4] != null);
      assertEquals(keyed, row[5] != null);
      assertEquals(row[0].equals(0) && keyed, row[2] != null); // only of the topic with a contract
    }
  }

  @Test
  void summariesFollowTheRecordsIfTheyAreSelected() throws IOException {
    List<Object[]> rows = records("note", "offset", "time", "key", "value", "part");
    assertEquals(60, rows.size());
    for (int i = 0; i < 58; i++) {
      assertEquals(null, rows.get(i)[0]);
      assertEquals(byte[].class, rows.get(i)[4] == null ? byte[].class : rows.get(i)[4].getClass());
    }
    for (int i = 58; i < 60; i++) {
      assertTrue(rows.get(i)[0].toString().startsWith("{\"start\":"));
      assertEquals(null, rows.get(i)[1]);
      assertEquals(i - 58, rows.get(i)[5]);
    }
  }
}
