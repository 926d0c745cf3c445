package io.topicwarden.reader.source;

import io.topicwarden.reader.codecs.Contracts;
import io.topicwarden.reader.codecs.FaultCounts;
import io.topicwarden.reader.counting.KeyHash;
import io.topicwarden.reader.fields.FieldRules;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Returns rows for the records and the rules that compare them, and a row with the summary of each
 * range, whose faults are the records that a rule does not judge. {@link ComparedRows} says which
 * records share a row; with digests, of the identity and of the whole record, none do.
 */
class FieldReader extends RangeReader {
  static final StructType SCHEMA =
      StructType.fromDDL(
          "part INT, rule INT, identity BIGINT, offset BIGINT, time BIGINT, value BINARY, "
              + "records BIGINT, hashes ARRAY<BIGINT>, digest BINARY, content BINARY, note STRING");

  private final FieldRules rules;
  private final Deque<InternalRow> rows = new ArrayDeque<>();
  private final ComparedRows compared = new ComparedRows(this::addRow);
  private ConsumerRecord<byte[], byte[]> record;
  private RangeCursor lastSummarized;
  private InternalRow row;
  private final FieldRules.Output output =
      new FieldRules.Output() {
        @Override
        public void add(FieldRules.Rule rule, byte[] identity, byte[] value) {
          ComparedRows.Row row =
              new ComparedRows.Row(
                  cursor.range.partitionId(),
                  rule,
                  KeyHash.of(identity),
                  record.offset(),
                  record.timestamp(),
                  value);
          if (rules.needsDigests()) {
            addRow(row, null, sha256(identity), sha256(record.key(), record.value()));
          } else {
            compared.add(row);
          }
        }

        @Override
        public void unjudged(int rule, String reason, boolean undecidable) {
          FaultCounts faults = cursor.summary.faults();
          faults.add(Integer.toString(rule), reason, record.offset(), undecidable);
        }
      };

  FieldReader(
      Map<String, Object> consumerSettings,
      List<OffsetRange> ranges,
      FieldRules rules,
      RateLimiter rateLimiter) {
    super(consumerSettings, ranges, true, new Contracts(null, null), Long.MAX_VALUE, rateLimiter);
    this.rules = rules;
  }

  private void addRow(ComparedRows.Row row, long[] hashes) {
    addRow(row, hashes, null, null);
  }

  private void addRow(ComparedRows.Row row, long[] hashes, byte[] digest, byte[] content) {
    rows.add(
        row(
            hashes == null ? row.part : null, // identities of several partitions share a block
            row.rule.number(),
            row.identity,
            row.offset,
            row.time,
            row.value,
            row.records,
            hashes == null ? null : UnsafeArrayData.fromPrimitiveArray(hashes),
            digest,
            content,
            null));
  }

  private static InternalRow row(Object... values) {
    return new GenericInternalRow(values);
  }

  private static byte[] sha256(byte[]... parts) {
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      for (byte[] part : parts) {
        digest.update(
            (part == null ? "null:" : part.length + ":").getBytes(StandardCharsets.US_ASCII));
        digest.update(part == null ? new byte[0] : part);
      }
      return digest.digest();
    } catch (NoSuchAlgorithmException error) {
      throw new IllegalStateException(error);
    }
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
  protected boolean onRecord(ConsumerRecord<byte[], byte[]> read) {
    record = read;
    rules.apply(read, output);
    return !rows.isEmpty();
  }

  @Override
  protected boolean onFinished(RangeCursor range) {
    if (range == lastSummarized) {
      return false;
    }
    lastSummarized = range;
    UTF8String summary = UTF8String.fromString(range.summary.toJson());
    Object[] values = new Object[SCHEMA.length()];
    values[0] = range.range.partitionId();
    values[values.length - 1] = summary;
    rows.add(row(values));
    return true;
  }

  @Override
  protected boolean onEnd() {
    compared.close();
    return !rows.isEmpty();
  }

  @Override
  public InternalRow get() {
    return row;
  }
}
