package io.topicwarden.reader.source;

import io.topicwarden.reader.codecs.Contracts;
import io.topicwarden.reader.inference.Settings;
import io.topicwarden.reader.inference.TopicSummary;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Returns a row with the summary of each range (see {@link RangeSummary}), whose faults are what
 * breaks the declared contract, and then one with the {@link TopicSummary} of each topic.
 */
class InferenceReader extends RangeReader {
  static final StructType SCHEMA =
      StructType.fromDDL("part INT, note STRING, topic STRING, summary STRING");

  private final Settings settings;
  private final Map<String, TopicSummary> summaries = new TreeMap<>();
  private Iterator<Map.Entry<String, TopicSummary>> results;
  private RangeCursor lastSummarized;
  private InternalRow row;

  InferenceReader(
      Map<String, Object> consumerSettings,
      List<OffsetRange> ranges,
      Settings settings,
      Contracts contracts,
      RateLimiter rateLimiter) {
    super(consumerSettings, ranges, true, contracts, Long.MAX_VALUE, rateLimiter);
    this.settings = settings;
  }

  @Override
  protected boolean onRecord(ConsumerRecord<byte[], byte[]> record) {
    summaries
        .computeIfAbsent(record.topic(), topic -> new TopicSummary(topic, settings))
        .add(record);
    return false;
  }

  @Override
  protected boolean onFinished(RangeCursor range) {
    if (range == lastSummarized) {
      return false;
    }
    lastSummarized = range;
    row = row(range.range.partitionId(), text(range.summary.toJson()), null, null);
    return true;
  }

  @Override
  protected boolean onEnd() {
    if (results == null) {
      results = summaries.entrySet().iterator();
    }
    if (!results.hasNext()) {
      return false;
    }
    Map.Entry<String, TopicSummary> next = results.next();
    row = row(null, null, text(next.getKey()), text(next.getValue().toJson().toString()));
    return true;
  }

  private static InternalRow row(Object... values) {
    return new GenericInternalRow(values);
  }

  private static UTF8String text(String text) {
    return UTF8String.fromString(text);
  }

  @Override
  public InternalRow get() {
    return row;
  }
}
