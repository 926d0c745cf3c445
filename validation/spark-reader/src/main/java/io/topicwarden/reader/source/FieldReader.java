package io.topicwarden.reader.source;

import io.topicwarden.reader.codecs.Contracts;
import io.topicwarden.reader.fields.FieldRules;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Returns rows for the records and the rules that compare them (see {@link FieldRows}), and a row
 * with the summary of each range, whose faults are the records that a rule does not judge.
 */
class FieldReader extends RangeReader {
  private final FieldRows rows;
  private RangeCursor lastSummarized;
  private InternalRow row;

  FieldReader(
      Map<String, Object> consumerSettings,
      List<OffsetRange> ranges,
      FieldRules rules,
      RateLimiter rateLimiter) {
    super(consumerSettings, ranges, true, new Contracts(null, null), Long.MAX_VALUE, rateLimiter);
    this.rows = new FieldRows(rules);
  }

  @Override
  public boolean next() throws IOException {
    if (rows.isEmpty() && !super.next()) {
      return false;
    }
    row = rows.remove();
    return true;
  }

  @Override
  protected boolean onRecord(ConsumerRecord<byte[], byte[]> record) {
    rows.add(record, cursor.range.partitionId(), cursor.summary.faults());
    return !rows.isEmpty();
  }

  @Override
  protected boolean onFinished(RangeCursor range) {
    if (range == lastSummarized) {
      return false;
    }
    lastSummarized = range;
    rows.addSummary(range.range.partitionId(), range.summary.toJson());
    return true;
  }

  @Override
  protected boolean onEnd() {
    rows.close();
    return !rows.isEmpty();
  }

  @Override
  public InternalRow get() {
    return row;
  }
}
