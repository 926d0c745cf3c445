package io.topicwarden.reader.source;

import io.topicwarden.reader.fields.FieldRules;
import io.topicwarden.reader.fields.FieldRules.Kind;
import io.topicwarden.reader.fields.FieldRules.Rule;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.TreeMap;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructType;

/**
 * Compares the rows of {@link FieldRows} that have the same rule and identity, in one pass over
 * sorted rows. It keeps one row, and a total for each rule and partition, however many rows an
 * identity has. {@code audit/scan/compared_rows.py} sorts the rows, and calls {@link #compare}.
 *
 * <p>The keys that a reference may have are rows of its rule, too, which come first: a reference
 * without such a row is no key, whatever hashes collide. Of {@code unique}, there may be hashes of
 * a bucket in place of records. Rows with digests break a rule only if their digests are equal.
 */
public final class ComparedGroups implements Iterator<Row> {
  /**
   * A total: of a rule and partition, of a rule and a bucket in which an identity repeats, or a
   * text of the reader. {@code offset} is that of the first record that breaks the rule, the {@code
   * other} one is the record before it.
   */
  static final StructType SCHEMA =
      StructType.fromDDL(
          "rule INT, part INT, bucket BIGINT, judged BIGINT, broken BIGINT, moved BIGINT, "
              + "young BIGINT, deleted BIGINT, offset BIGINT, other_part INT, other_offset BIGINT, "
              + "identity BIGINT, resent BOOLEAN, note STRING, totals STRING");

  private static final int PART = FieldRows.SCHEMA.fieldIndex("part");
  private static final int RULE = FieldRows.SCHEMA.fieldIndex("rule");
  private static final int IDENTITY = FieldRows.SCHEMA.fieldIndex("identity");
  private static final int SEQUENCE = FieldRows.SCHEMA.fieldIndex("sequence");
  private static final int OFFSET = FieldRows.SCHEMA.fieldIndex("offset");
  private static final int TIME = FieldRows.SCHEMA.fieldIndex("time");
  private static final int VALUE = FieldRows.SCHEMA.fieldIndex("value");
  private static final int RECORDS = FieldRows.SCHEMA.fieldIndex("records");
  private static final int HASHES = FieldRows.SCHEMA.fieldIndex("hashes");
  private static final int DIGEST = FieldRows.SCHEMA.fieldIndex("digest");
  private static final int CONTENT = FieldRows.SCHEMA.fieldIndex("content");
  private static final int NOTE = FieldRows.SCHEMA.fieldIndex("note");
  private static final int TOTALS = FieldRows.SCHEMA.fieldIndex("totals");
  private static final int BLOCK_OF_HASHES = -1; // in place of a partition

  /** A row of a record, or of several. */
  private record Compared(
      int part, int sequence, long offset, long time, byte[] value, byte[] digest, byte[] content) {
    static Compared of(InternalRow row) {
      return new Compared(
          row.getInt(PART),
          row.getInt(SEQUENCE),
          row.getLong(OFFSET),
          row.getLong(TIME),
          binary(row, VALUE),
          binary(row, DIGEST),
          binary(row, CONTENT));
    }

    private static byte[] binary(InternalRow row, int column) {
      return row.isNullAt(column) ? null : row.getBinary(column);
    }

    boolean isSame(Compared earlier) {
      return digest == null || Arrays.equals(digest, earlier.digest);
    }

    boolean isResent(Compared earlier) {
      return content != null && Arrays.equals(content, earlier.content) && time == earlier.time;
    }
  }

  /** What the records of one partition show of a rule. */
  private static final class Total {
    long judged;
    long broken;
    long moved;
    long young;
    long deleted;
    Compared first; // that breaks the rule
    Compared other;
    long identity;

    void addBroken(long records, Compared row, Compared earlier, long ofIdentity) {
      broken += records;
      if (first == null || row.offset < first.offset) {
        first = row;
        other = earlier;
        identity = ofIdentity;
      }
    }

    Row toRow(int rule, int part) {
      return RowFactory.create(
          rule,
          part == BLOCK_OF_HASHES ? null : part,
          null,
          judged,
          broken,
          moved,
          young,
          deleted,
          first == null ? null : first.offset,
          other == null ? null : other.part,
          other == null ? null : other.offset,
          first == null ? null : identity,
          first != null && other != null && first.isResent(other),
          null,
          null);
    }
  }

  private final List<Rule> rules;
  private final Iterator<InternalRow> rows;
  private final Map<Integer, Map<Integer, Total>> totals = new TreeMap<>(); // by rule and partition
  private final List<Row> repeated = new ArrayList<>();
  private Iterator<Row> results; // null until all rows were compared
  private Row text; // to return next, or null

  // The current group.
  private int rule = -1;
  private long identity;
  private Map<Integer, Total> byPart; // the totals of the rule
  private Compared earlier; // null before the first record
  private Compared key; // the last one that records refer to, or null
  private long[] hashes; // of a bucket; null if one repeats
  private int held; // how many there are

  ComparedGroups(List<Rule> rules, Iterator<InternalRow> rows) {
    this.rules = rules;
    this.rows = rows;
  }

  /**
   * Compares rows of {@link FieldRows}, whose rules are numbered below {@code rules}.
   *
   * @param sorted all rows of one rule and identity are in one partition, in the order of their
   *     sequence and position
   * @param rules an array of rules, see {@link FieldRules}
   */
  public static Dataset<Row> compare(Dataset<Row> sorted, String rules) {
    JavaRDD<Row> totals =
        sorted
            .queryExecution()
            .toRdd()
            .toJavaRDD()
            .mapPartitions(rows -> new ComparedGroups(FieldRules.rules(rules), rows));
    return sorted.sparkSession().createDataFrame(totals, SCHEMA);
  }

  @Override
  public boolean hasNext() {
    while (text == null && rows.hasNext()) {
      InternalRow row = rows.next();
      if (row.isNullAt(RULE)) {
        text = text(row);
      } else {
        add(row);
      }
    }
    if (text == null && results == null) {
      endGroup();
      results = results();
    }
    return text != null || results.hasNext();
  }

  @Override
  public Row next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    Row next = text == null ? results.next() : text;
    text = null;
    return next;
  }

  private static Row text(InternalRow row) {
    return sparse(
        List.of("part", "note", "totals"),
        row.isNullAt(PART) ? null : row.getInt(PART),
        row.isNullAt(NOTE) ? null : row.getString(NOTE),
        row.isNullAt(TOTALS) ? null : row.getString(TOTALS));
  }

  /** Returns a row with the values of these columns; the others are null. */
  private static Row sparse(List<String> columns, Object... values) {
    Object[] row = new Object[SCHEMA.length()];
    for (int i = 0; i < values.length; i++) {
      row[SCHEMA.fieldIndex(columns.get(i))] = values[i];
    }
    return RowFactory.create(row);
  }

  private void add(InternalRow row) {
    if (row.getInt(RULE) != rule || row.getLong(IDENTITY) != identity) {
      endGroup();
      rule = row.getInt(RULE);
      identity = row.getLong(IDENTITY);
      byPart = totals.computeIfAbsent(rule, any -> new TreeMap<>());
      earlier = null;
      key = null;
      hashes = new long[0];
      held = 0;
    }
    if (row.isNullAt(HASHES)) {
      compare(Compared.of(row), row.getLong(RECORDS));
    } else {
      total(BLOCK_OF_HASHES).judged += row.getLong(RECORDS);
      addHashes(row.getArray(HASHES).toLongArray());
    }
  }

  private void compare(Compared row, long records) {
    if (row.sequence == FieldRows.REFERENCED) {
      boolean isLast = key == null || row.offset > key.offset;
      key = isLast || (row.offset == key.offset && row.value != null) ? row : key;
      return;
    }
    Rule declared = rules.get(rule);
    Total total = total(row.part);
    total.judged += row.value == null ? 0 : records;
    if (declared.kind() == Kind.REFERENCES) {
      if (key != null) {
        total.deleted += key.value == null ? records : 0;
      } else if (declared.isOld(row.time)) {
        total.addBroken(records, row, null, identity);
      } else {
        total.young += records;
      }
      return;
    }
    if (earlier != null && earlier.sequence != row.sequence) {
      total.moved++;
    } else if (earlier != null
        && declared.isBroken(row.time, row.value, earlier.time, earlier.value)
        && row.isSame(earlier)) {
      total.addBroken(records, row, earlier, identity);
    }
    earlier = row;
  }

  /** Adds identities of a bucket; when one repeats, the others need no memory. */
  private void addHashes(long[] block) {
    if (hashes == null) {
      return;
    }
    if (held + block.length > hashes.length) {
      if (isRepeated()) {
        return;
      }
      hashes = Arrays.copyOf(hashes, Math.max(2 * hashes.length, held + block.length));
    }
    System.arraycopy(block, 0, hashes, held, block.length);
    held += block.length;
  }

  /** Returns whether an identity of the bucket repeats; the first time it does, adds a result. */
  private boolean isRepeated() {
    Arrays.sort(hashes, 0, held);
    for (int i = 1; i < held; i++) {
      if (hashes[i] == hashes[i - 1]) {
        repeated.add(sparse(List.of("rule", "bucket"), rule, identity));
        hashes = null;
        return true;
      }
    }
    return false;
  }

  private void endGroup() {
    if (hashes != null) {
      isRepeated();
    }
  }

  private Total total(int part) {
    return byPart.computeIfAbsent(part, any -> new Total());
  }

  private Iterator<Row> results() {
    List<Row> results = new ArrayList<>(repeated);
    totals.forEach((of, parts) -> parts.forEach((part, all) -> results.add(all.toRow(of, part))));
    return results.iterator();
  }
}
