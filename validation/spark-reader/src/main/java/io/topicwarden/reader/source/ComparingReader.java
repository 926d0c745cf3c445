package io.topicwarden.reader.source;

import io.topicwarden.reader.codecs.Contracts;
import io.topicwarden.reader.counting.CountingRules;
import io.topicwarden.reader.counting.SpillStorage;
import io.topicwarden.reader.fields.FieldRules;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Returns the rows of a {@link FieldReader} while it counts records, then a row with the totals of
 * each partition.
 *
 * <p>The records may be uncommitted. A finished transaction leaves a gap, so of a range with a gap,
 * the comparison stops at the gap: its topic needs a {@link FieldReader}. The summary has the gap.
 */
class ComparingReader extends TotalsReader {
  private final Contracts noContracts = new Contracts(null, null); // for this thread only
  private final FieldRules fields;
  private final FieldRows rows;
  private final Map<RangeCursor, RangeSummary> summaries = new HashMap<>();
  private RangeCursor current;
  private RangeSummary summary; // of the current range; null if no rule concerns its topic
  private boolean closed; // whether all records have been read
  private InternalRow row;

  ComparingReader(
      Map<String, Object> consumerSettings,
      List<OffsetRange> ranges,
      CountingRules rules,
      FieldRules fields,
      Contracts contracts,
      RateLimiter rateLimiter,
      SpillStorage spillStorage) {
    super(consumerSettings, ranges, rules, contracts, rateLimiter, spillStorage);
    this.fields = fields;
    this.rows = new FieldRows(fields);
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
  protected boolean onRecord(ConsumerRecord<byte[], byte[]> record) throws IOException {
    super.onRecord(record);
    if (cursor != current) {
      select(cursor);
    }
    if (summary != null) {
      summary.add(record);
      if (!summary.hasGap()) {
        rows.add(record, cursor.range.partitionId(), summary.faults());
      }
    }
    return !rows.isEmpty();
  }

  private void select(RangeCursor range) {
    current = range;
    String topic = range.range.partition().topic();
    summary = null;
    if (fields.concern(topic)) {
      Contracts.TopicContract none = noContracts.forTopic(topic);
      summary =
          summaries.computeIfAbsent(
              range, any -> new RangeSummary(range.range, none, Long.MAX_VALUE));
    }
  }

  @Override
  protected boolean onFinished(RangeCursor range) {
    super.onFinished(range);
    select(range);
    if (summary != null) {
      rows.addSummary(range.range.partitionId(), summary.toJson());
    }
    return false;
  }

  @Override
  protected boolean onEnd() throws IOException {
    if (!closed) {
      rows.close();
      closed = true;
    }
    if (rows.isEmpty() && super.onEnd()) {
      rows.addTotals(totals()); // one at a time: they are large if a task has many partitions
    }
    return !rows.isEmpty();
  }

  @Override
  public InternalRow get() {
    return row;
  }
}
