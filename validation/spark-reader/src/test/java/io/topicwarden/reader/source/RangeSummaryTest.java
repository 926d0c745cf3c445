package io.topicwarden.reader.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.topicwarden.reader.Json;
import io.topicwarden.reader.codecs.Contracts.TopicContract;
import java.io.IOException;
import java.util.Optional;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RangeSummaryTest {
  private static final long NOW = TestConsumer.TIMESTAMP;
  private static final OffsetRange RANGE = new OffsetRange(0, TestConsumer.PARTITION, 10, 20);

  private final RangeSummary summary = summary(1_000, 0);

  private static RangeSummary summary(long maxLateMs, long arrivalMs) {
    return new RangeSummary(RANGE, new TopicContract(0, maxLateMs, null, 5, arrivalMs, null), 4);
  }

  private void add(long offset, long timestamp) {
    summary.add(TestConsumer.record(TestConsumer.PARTITION, offset, timestamp, "k", "v"));
  }

  private JsonNode json() throws IOException {
    return Json.MAPPER.readTree(summary.toJson());
  }

  @Test
  void aCompleteRangeHasNoGap() throws IOException {
    for (long offset = 10; offset < 20; offset++) {
      add(offset, NOW);
    }
    assertTrue(json().path("last_gap").isNull());
    assertEquals(10, json().path("start").asLong());
  }

  @ParameterizedTest
  @CsvSource({
    "11, 19, 18", // between records
    "10, 18, 19", // at the end
    "19, 19, 18", // at the start
  })
  void theLastGapIsTheLastOffsetWithoutARecord(long first, long second, long gap)
      throws IOException {
    add(first, NOW);
    if (second != first) {
      add(second, NOW);
    }
    assertEquals(gap, json().path("last_gap").asLong());
  }

  @Test
  void anEmptyRangeIsAGap() throws IOException {
    assertEquals(19, json().path("last_gap").asLong());
    assertFalse(json().has("highest"));
    assertEquals("{}", json().path("types").toString());
  }

  @Test
  void keepsTheNewestAndTheOldestTimestamp() throws IOException {
    add(10, NOW);
    add(11, NOW + 5);
    add(12, NOW - 5);
    add(13, NOW - 5);
    assertEquals(NOW + 5, json().path("highest").asLong());
    assertEquals(NOW - 5, json().path("lowest").asLong());
    assertEquals(12, json().path("lowest_offset").asLong());
  }

  @Test
  void countsRecordsByTypeOfTimestamp() throws IOException {
    add(10, NOW);
    add(11, NOW);
    summary.add(
        new ConsumerRecord<>(
            "topic",
            0,
            12,
            NOW,
            TimestampType.LOG_APPEND_TIME,
            0,
            0,
            new byte[0],
            new byte[0],
            new RecordHeaders(),
            Optional.empty()));
    assertEquals(
        "{\"CreateTime\":[2,11],\"LogAppendTime\":[1,12]}", json().path("types").toString());
  }

  @Test
  void aRecordIsLateIfItIsOlderThanTheNewestBeforeIt() throws IOException {
    add(10, NOW);
    add(11, NOW - 1_000);
    add(12, NOW - 1_001);
    add(13, NOW + 500);
    add(14, NOW - 501);
    assertEquals(1, json().path("faults").size());
    JsonNode fault = json().path("faults").path(0);
    assertEquals("timestamp-late", fault.path("rule").asText());
    assertEquals(2, fault.path("count").asInt());
    assertEquals("[12,14]", fault.path("offsets").toString());
  }

  @Test
  void withoutALimitNothingIsLate() throws IOException {
    RangeSummary unlimited = summary(Long.MAX_VALUE, 0);
    unlimited.add(TestConsumer.record(TestConsumer.PARTITION, 10, NOW, "k", "v"));
    unlimited.add(TestConsumer.record(TestConsumer.PARTITION, 11, NOW / 10, "k", "v"));
    assertEquals("[]", Json.MAPPER.readTree(unlimited.toJson()).path("faults").toString());
  }

  @ParameterizedTest
  @CsvSource({
    "0, 0: its producer sets no time",
    "1700000000, seconds",
    "1700000000000000, microseconds",
    "1700000000000000000, nanoseconds",
  })
  void aTimestampOfAnotherUnitIsAFault(long timestamp, String unit) throws IOException {
    add(10, timestamp);
    JsonNode fault = json().path("faults").path(0);
    assertEquals("timestamp-unit", fault.path("rule").asText());
    assertEquals(unit, fault.path("reason").asText());
  }

  @Test
  void aRecordWithoutTimestampIsNoFault() throws IOException {
    add(10, -1);
    assertEquals("[]", json().path("faults").toString());
    assertFalse(json().has("highest"));
  }

  @Test
  void countsArrivalsIfAPeriodIsDeclared() throws IOException {
    add(10, NOW);
    assertFalse(json().has("arrivals"));
    RangeSummary counting = summary(Long.MAX_VALUE, 60_000);
    assertFalse(Json.MAPPER.readTree(counting.toJson()).has("arrivals"));
    counting.add(TestConsumer.record(TestConsumer.PARTITION, 10, 120_001, "k", "v"));
    counting.add(TestConsumer.record(TestConsumer.PARTITION, 11, -1, "k", "v"));
    JsonNode arrivals = Json.MAPPER.readTree(counting.toJson()).path("arrivals");
    assertEquals("[[2,120000,1]]", arrivals.toString());
  }
}
