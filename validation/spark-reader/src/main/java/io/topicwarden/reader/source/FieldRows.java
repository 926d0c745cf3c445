package io.topicwarden.reader.source;

import io.topicwarden.reader.codecs.FaultCounts;
import io.topicwarden.reader.counting.KeyHash;
import io.topicwarden.reader.fields.FieldRules;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayDeque;
import java.util.Deque;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;

/**
 * Makes rows for records and the rules that compare them. {@link ComparedRows} says which records
 * share a row; with digests, of the identity and of the whole record, none do. Used by one thread.
 */
final class FieldRows {
  static final StructType SCHEMA =
      StructType.fromDDL(
          "part INT, rule INT, identity BIGINT, sequence INT, position BIGINT, offset BIGINT, "
              + "time BIGINT, value BINARY, records BIGINT, hashes ARRAY<BIGINT>, digest BINARY, "
              + "content BINARY, note STRING, totals STRING");

  /** The sequence of keys that are referred to: they come before the records that refer to them. */
  static final int REFERENCED = -2;

  private static final int BY_TIME = -1; // the sequence of records of all partitions

  private final FieldRules rules;
  private final Deque<InternalRow> rows = new ArrayDeque<>();
  private final ComparedRows compared =
      new ComparedRows((row, hashes) -> add(row, hashes, null, null));
  private ConsumerRecord<byte[], byte[]> record;
  private int part;
  private FaultCounts faults;
  private final FieldRules.Output output =
      new FieldRules.Output() {
        @Override
        public void add(FieldRules.Rule rule, byte[] identity, byte[] value) {
          ComparedRows.Row row =
              new ComparedRows.Row(
                  part, rule, KeyHash.of(identity), record.offset(), record.timestamp(), value);
          if (rules.needsDigests()) {
            FieldRows.this.add(row, null, sha256(identity), sha256(record.key(), record.value()));
          } else {
            compared.add(row);
          }
        }

        @Override
        public void unjudged(int rule, String reason, boolean undecidable) {
          faults.add(Integer.toString(rule), reason, record.offset(), undecidable);
        }
      };

  FieldRows(FieldRules rules) {
    this.rules = rules;
  }

  /**
   * Adds a committed record.
   *
   * @param part the number of its partition in the audit
   * @param faults receives why rules do not judge the record
   */
  void add(ConsumerRecord<byte[], byte[]> read, int part, FaultCounts faults) {
    this.record = read;
    this.part = part;
    this.faults = faults;
    rules.apply(read, output);
  }

  /** Adds a row with the summary of a range. */
  void addSummary(int part, String summary) {
    addText(part, summary, null);
  }

  /** Adds a row with the totals of a partition. */
  void addTotals(String totals) {
    addText(null, null, totals);
  }

  private void addText(Integer part, String summary, String totals) {
    Object[] values = new Object[SCHEMA.length()];
    values[0] = part;
    values[values.length - 2] = UTF8String.fromString(summary);
    values[values.length - 1] = UTF8String.fromString(totals);
    rows.add(new GenericInternalRow(values));
  }

  private void add(ComparedRows.Row row, long[] hashes, byte[] digest, byte[] content) {
    boolean byOffset = row.rule.kind() == FieldRules.Kind.ORDERED;
    int others = row.rule.kind() == FieldRules.Kind.REFERENCED ? REFERENCED : BY_TIME;
    Object[] values = {
      hashes == null ? row.part : null, // identities of several partitions share a block
      row.rule.number(),
      row.identity,
      byOffset ? row.part : others,
      byOffset ? row.offset : row.time,
      row.offset,
      row.time,
      row.value,
      row.records,
      hashes == null ? null : UnsafeArrayData.fromPrimitiveArray(hashes),
      digest,
      content,
      null,
      null
    };
    rows.add(new GenericInternalRow(values));
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

  /** Adds the rows that stand for several records; no record may follow. */
  void close() {
    compared.close();
  }

  boolean isEmpty() {
    return rows.isEmpty();
  }

  /** Returns the next row. */
  InternalRow remove() {
    return rows.remove();
  }
}
