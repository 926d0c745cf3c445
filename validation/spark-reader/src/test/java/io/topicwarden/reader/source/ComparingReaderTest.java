package io.topicwarden.reader.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.topicwarden.reader.Json;
import io.topicwarden.reader.codecs.Contracts;
import io.topicwarden.reader.codecs.LastJson;
import io.topicwarden.reader.counting.CountingRules;
import io.topicwarden.reader.counting.SpillStorage;
import io.topicwarden.reader.fields.FieldRules;
import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructField;
import org.junit.jupiter.api.Test;

/**
 * The comparing reader returns what a field reader and a totals reader return of the same records.
 */
class ComparingReaderTest {
  private static final TopicPartition OTHER = new TopicPartition("other", 1);
  private static final List<OffsetRange> RANGES =
      List.of(new OffsetRange(0, TestConsumer.PARTITION, 0, 60), new OffsetRange(1, OTHER, 5, 25));
  private static final String COUNTING =
      """
      {"now": %d, "bands": [0, 1000], "block": 8, "bands_at_most": 16, "parts": [
        {"part": 0, "by_key": true, "rolled_border": 20, "cleanable_border": 10},
        {"part": 1, "by_key": false, "rolled_border": 0, "cleanable_border": 0}]}
      """
          .formatted(TestConsumer.TIMESTAMP);
  private static final String CONTRACTS =
      """
      {"topic": {"partitions": 1, "records": {"value": {"format": "json", "schema":
        "{\\"properties\\": {\\"id\\": {\\"type\\": \\"integer\\"}}}"}}},
       "other": {"records": {"key": {"format": "int"}}}}
      """;
  private static final String COMPARED =
      """
      {"topics": {"topic": {"value": {"format": "json"}, "rules": [
        {"rule": 0, "kind": "ORDERED", "parts": [{"field": ["version"]}], "strict": true},
        {"rule": 1, "kind": "UNIQUE", "parts": [{"field": ["id"]}], "buckets": 2},
        {"rule": 2, "kind": "UNIQUE", "parts": [{"field": ["id"]}], "buckets": 0}]}}}
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

  /** Returns a consumer of two filled partitions; the first has no record at the offset. */
  private static TestConsumer consumer(int missing) {
    TestConsumer consumer = new TestConsumer();
    for (int offset = 0; offset < 60; offset++) {
      String id = offset % 9 == 8 ? "\"text\"" : Integer.toString(offset % 40);
      String value = "{\"id\": " + id + ", \"version\": " + offset % 31 + "}";
      if (offset % 11 == 10) {
        value = offset % 2 == 0 ? null : "{";
      }
      if (offset != missing) {
        consumer.addRecord(TestConsumer.PARTITION, offset, "key-" + offset % 4, value);
      }
    }
    for (int offset = 5; offset < 25; offset++) {
      consumer.addRecord(OTHER, offset, "k", "v");
    }
    return consumer;
  }

  private static List<InternalRow> rows(RangeReader reader) throws IOException {
    List<InternalRow> rows = new ArrayList<>();
    try (reader) {
      while (reader.next()) {
        rows.add(reader.get());
      }
    }
    return rows;
  }

  private static List<InternalRow> comparing(int missing) throws IOException {
    LastJson last = new LastJson();
    return rows(
        new ComparingReader(
            Map.of(),
            RANGES,
            new CountingRules(COUNTING),
            new FieldRules(COMPARED, null, last),
            new Contracts(CONTRACTS, null, last),
            new RateLimiter(0),
            NO_SPILLS) {
          @Override
          Consumer<byte[], byte[]> connect(Map<String, Object> settings) {
            return consumer(missing);
          }
        });
  }

  private static List<InternalRow> fields() throws IOException {
    FieldRules rules = new FieldRules(COMPARED, null, null);
    return rows(
        new FieldReader(Map.of(), RANGES.subList(0, 1), rules, new RateLimiter(0)) {
          @Override
          Consumer<byte[], byte[]> connect(Map<String, Object> settings) {
            return consumer(-1);
          }
        });
  }

  private static List<String> totals() throws IOException {
    return rows(
            new TotalsReader(
                Map.of(),
                RANGES,
                new CountingRules(COUNTING),
                new Contracts(CONTRACTS, null),
                new RateLimiter(0),
                NO_SPILLS) {
              @Override
              Consumer<byte[], byte[]> connect(Map<String, Object> settings) {
                return consumer(-1);
              }
            })
        .stream()
        .map(row -> row.getUTF8String(0).toString())
        .toList();
  }

  private static int column(String name) {
    return FieldRows.SCHEMA.fieldIndex(name);
  }

  private static List<String> texts(List<InternalRow> rows, String name) {
    return rows.stream()
        .filter(row -> !row.isNullAt(column(name)))
        .map(row -> row.getUTF8String(column(name)).toString())
        .toList();
  }

  /** Returns the rows of records as text. */
  private static Set<String> compared(List<InternalRow> rows) {
    Set<String> texts = new TreeSet<>();
    for (InternalRow row : rows) {
      if (!row.isNullAt(column("rule"))) {
        StringBuilder text = new StringBuilder();
        for (StructField field : FieldRows.SCHEMA.fields()) {
          int at = column(field.name());
          Object value = row.isNullAt(at) ? null : row.get(at, field.dataType());
          if (field.name().equals("hashes") && value != null) {
            value = Arrays.toString(row.getArray(at).toLongArray());
          }
          text.append(value instanceof byte[] bytes ? Arrays.toString(bytes) : value).append(' ');
        }
        texts.add(text.toString());
      }
    }
    return texts;
  }

  @Test
  void readersOfSeveralThreadsShareNothing() {
    for (Field field : ComparingReader.class.getDeclaredFields()) {
      assertFalse(Modifier.isStatic(field.getModifiers()), field.getName());
    }
  }

  @Test
  void rowsAndTotalsAreThoseOfSeparateReaders() throws IOException {
    List<InternalRow> rows = comparing(-1);
    assertEquals(compared(fields()), compared(rows));
    assertTrue(compared(rows).size() > 60);
    assertEquals(totals(), texts(rows, "totals"));
  }

  @Test
  void recordsThatAreNotJudgedAreInTheSummaryOfTheComparison() throws IOException {
    List<String> expected = texts(fields(), "note");
    List<String> found = texts(comparing(-1), "note");
    assertEquals(1, found.size()); // no rule concerns the other topic
    assertEquals(expected, found);
    assertTrue(found.get(0).contains("not in the declared format"));
  }

  @Test
  void theComparisonStopsAtAGap() throws IOException {
    List<InternalRow> rows = comparing(20);
    JsonNode summary = Json.MAPPER.readTree(texts(rows, "note").get(0));
    assertEquals(20, summary.path("last_gap").asInt());
    assertTrue(
        rows.stream()
            .filter(row -> !row.isNullAt(column("part")) && !row.isNullAt(column("rule")))
            .allMatch(row -> row.getLong(column("offset")) < 20));
    assertEquals(59, records(texts(rows, "totals").get(0)));
  }

  private static int records(String totals) throws IOException {
    JsonNode bands = Json.MAPPER.readTree(totals).path("bands");
    int records = 0;
    for (JsonNode band : bands) {
      records += band.path("records").asInt();
    }
    return records;
  }
}
