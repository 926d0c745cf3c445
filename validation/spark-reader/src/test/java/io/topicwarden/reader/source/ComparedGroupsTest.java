package io.topicwarden.reader.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.topicwarden.reader.fields.FieldRules;
import io.topicwarden.reader.fields.FieldRules.Kind;
import io.topicwarden.reader.fields.FieldRules.Rule;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.IntStream;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class ComparedGroupsTest {
  private static final long OLD_BEFORE = 500;
  private static final long WITHIN = 20;
  private static final byte[] PRESENT = {};
  private static final Rule ORDERED = rule(0, Kind.ORDERED, false, -1);
  private static final Rule STRICT = rule(1, Kind.ORDERED, true, -1);
  private static final Rule UNIQUE = rule(2, Kind.UNIQUE, false, -1);
  private static final Rule WITHIN_A_PERIOD = rule(3, Kind.UNIQUE, false, WITHIN);
  private static final Rule REFERENCES = rule(4, Kind.REFERENCES, false, -1);
  private static final List<Rule> RULES =
      List.of(ORDERED, STRICT, UNIQUE, WITHIN_A_PERIOD, REFERENCES);

  /** A record, which a key that is referred to may be. */
  private record Made(
      int rule, long identity, int part, long offset, long time, byte[] value, boolean isKey) {
    int sequence() {
      if (isKey) {
        return FieldRows.REFERENCED;
      }
      return RULES.get(rule).kind() == Kind.ORDERED ? part : -1;
    }

    long position() {
      return sequence() >= 0 ? offset : time;
    }

    InternalRow row(byte[] digest, byte[] content) {
      return row(
          rule, identity, part, sequence(), position(), offset, time, value, digest, content);
    }

    private static InternalRow row(
        int rule,
        long identity,
        int part,
        int sequence,
        long position,
        long offset,
        long time,
        byte[] value,
        byte[] digest,
        byte[] content) {
      Object[] values = {
        part, rule, identity, sequence, position, offset, time, value, 1L, null, digest, content,
        null, null
      };
      return new GenericInternalRow(values);
    }
  }

  private static final Comparator<Made> SPARK_SORTS =
      Comparator.comparingInt(Made::rule)
          .thenComparingLong(Made::identity)
          .thenComparingInt(Made::sequence)
          .thenComparingLong(Made::position)
          .thenComparingInt(Made::part)
          .thenComparingLong(Made::offset);

  private final Random random = new Random(20_261_129);

  private static Rule rule(int number, Kind kind, boolean strict, long within) {
    return new Rule(number, kind, List.of(), null, strict, OLD_BEFORE, within, 0, new BitSet());
  }

  private static List<Row> compared(Iterable<InternalRow> rows) {
    List<Row> results = new ArrayList<>();
    new ComparedGroups(RULES, rows.iterator()).forEachRemaining(results::add);
    return results;
  }

  private static Row only(List<Row> results) {
    assertEquals(1, results.size(), results.toString());
    return results.get(0);
  }

  private static Object get(Row row, String name) {
    return row.get(ComparedGroups.SCHEMA.fieldIndex(name));
  }

  private static long number(Row row, String name) {
    return (long) get(row, name);
  }

  private List<Made> randomRecords() {
    List<Made> all = new ArrayList<>();
    for (long offset = 0; offset < 5_000; offset++) {
      int rule = random.nextInt(RULES.size());
      boolean isKey = rule == REFERENCES.number() && random.nextInt(3) == 0;
      byte[] value = new byte[] {(byte) random.nextInt(2), (byte) (offset / 100)};
      if (random.nextInt(10) == 0) {
        value = null;
      } else if (random.nextInt(10) == 0) {
        value[1] = (byte) random.nextInt();
      }
      boolean isOrdered = RULES.get(rule).kind() == Kind.ORDERED;
      long identity = random.nextInt(isOrdered ? 50 : 2_000);
      all.add(
          new Made(
              rule,
              identity,
              random.nextInt(3),
              offset,
              random.nextInt(1_000) - 1,
              isOrdered || isKey ? value : PRESENT,
              isKey));
    }
    return all;
  }

  /** Compares each record with all others, by the words of the rules. */
  private static boolean breaks(Made record, List<Made> all) {
    List<Made> same =
        all.stream().filter(e -> e.rule == record.rule && e.identity == record.identity).toList();
    if (record.isKey) {
      return false;
    }
    if (record.rule == REFERENCES.number()) {
      boolean isOld = record.time >= 0 && record.time < OLD_BEFORE;
      return isOld && same.stream().noneMatch(Made::isKey);
    }
    Made before =
        same.stream()
            .filter(e -> e.sequence() == record.sequence() && SPARK_SORTS.compare(e, record) < 0)
            .max(SPARK_SORTS)
            .orElse(null);
    if (before == null) {
      return false;
    }
    if (record.rule == UNIQUE.number()) {
      return true;
    }
    if (record.rule == WITHIN_A_PERIOD.number()) {
      return record.time >= 0 && before.time >= 0 && record.time - before.time <= WITHIN;
    }
    if (record.value == null || before.value == null || record.value[0] != before.value[0]) {
      return false;
    }
    int order = Arrays.compareUnsigned(record.value, before.value);
    return order < 0 || (order == 0 && record.rule == STRICT.number());
  }

  @Test
  void onePassFindsWhatTheWordsOfTheRulesSay() {
    List<Made> all = randomRecords();
    TreeMap<String, Long> expected = new TreeMap<>();
    TreeMap<String, Long> first = new TreeMap<>();
    for (Made record : all) {
      if (breaks(record, all)) {
        String at = record.rule + "/" + record.part;
        expected.merge(at, 1L, Long::sum);
        first.merge(at, record.offset, Math::min);
      }
    }
    TreeMap<String, Long> found = new TreeMap<>();
    TreeMap<String, Long> foundFirst = new TreeMap<>();
    for (Row row :
        compared(all.stream().sorted(SPARK_SORTS).map(e -> e.row(null, null)).toList())) {
      String at = get(row, "rule") + "/" + get(row, "part");
      if (number(row, "broken") > 0) {
        found.put(at, number(row, "broken"));
        foundFirst.put(at, number(row, "offset"));
      }
    }
    assertEquals(15, expected.size(), "each rule is broken in each partition: " + expected);
    assertEquals(expected, found);
    assertEquals(first, foundFirst);
  }

  @Test
  void aReferenceToADeletedKeyAndAYoungOneAreCounted() {
    Made deleted = new Made(4, 1, 0, 7, 10, null, true);
    List<Made> all =
        List.of(
            new Made(4, 1, 0, 3, 10, PRESENT, true),
            deleted,
            new Made(4, 1, 2, 9, 10, PRESENT, false),
            new Made(4, 2, 2, 10, OLD_BEFORE, PRESENT, false));
    Row total = only(compared(all.stream().map(e -> e.row(null, null)).toList()));
    assertEquals(2L, number(total, "judged"));
    assertEquals(1L, number(total, "deleted"));
    assertEquals(1L, number(total, "young"));
    assertEquals(0L, number(total, "broken"));
  }

  @Test
  void aKeyOfTwoPartitionsHasMovedAndBreaksNothing() {
    List<Made> all =
        List.of(
            new Made(0, 1, 0, 5, 0, new byte[] {1, 9}, false),
            new Made(0, 1, 1, 2, 0, new byte[] {1, 3}, false));
    List<Row> totals = compared(all.stream().map(e -> e.row(null, null)).toList());
    assertEquals(1L, totals.stream().mapToLong(e -> number(e, "moved")).sum());
    assertEquals(0L, totals.stream().mapToLong(e -> number(e, "broken")).sum());
  }

  @Test
  void recordsWithDigestsAreADuplicateOnlyIfTheDigestsAreEqual() {
    Made one = new Made(2, 1, 0, 5, 70, PRESENT, false);
    Made other = new Made(2, 1, 0, 6, 70, PRESENT, false);
    byte[] digest = {1};
    Row total = only(compared(List.of(one.row(digest, digest), other.row(digest, digest))));
    assertEquals(1L, number(total, "broken"));
    assertEquals(5L, number(total, "other_offset"));
    assertEquals(true, get(total, "resent"));
    Row collision =
        only(compared(List.of(one.row(digest, digest), other.row(new byte[] {2}, digest))));
    assertEquals(0L, number(collision, "broken"));
    assertNull(get(collision, "offset"));
    Row changed = only(compared(List.of(one.row(digest, digest), other.row(digest, PRESENT))));
    assertEquals(false, get(changed, "resent"));
  }

  private static InternalRow block(int rule, long bucket, long... hashes) {
    Object[] values = new Object[FieldRows.SCHEMA.length()];
    values[FieldRows.SCHEMA.fieldIndex("rule")] = rule;
    values[FieldRows.SCHEMA.fieldIndex("identity")] = bucket;
    values[FieldRows.SCHEMA.fieldIndex("records")] = (long) hashes.length;
    values[FieldRows.SCHEMA.fieldIndex("hashes")] = UnsafeArrayData.fromPrimitiveArray(hashes);
    return new GenericInternalRow(values);
  }

  @Test
  void aBucketRepeatsIfAnyTwoOfItsIdentitiesAreEqual() {
    List<InternalRow> rows = new ArrayList<>();
    for (int bucket = 0; bucket < 40; bucket++) {
      long base = bucket * 100_000L;
      long[] hashes = IntStream.range(0, 3_000).mapToLong(i -> base + i).toArray();
      if (bucket % 2 == 1) {
        hashes[random.nextInt(1_500)] = hashes[1_500 + random.nextInt(1_500)];
      }
      for (int from = 0; from < hashes.length; from += 250) {
        rows.add(block(2, bucket, Arrays.copyOfRange(hashes, from, from + 250)));
      }
    }
    List<Row> results = compared(rows);
    List<Object> repeated =
        results.stream().map(e -> get(e, "bucket")).filter(e -> e != null).toList();
    assertEquals(IntStream.range(0, 20).<Object>mapToObj(i -> 2L * i + 1).toList(), repeated);
    Row total = results.get(results.size() - 1);
    assertEquals(120_000L, number(total, "judged"));
    assertNull(get(total, "part"));
  }

  @Test
  void oneIdentityInAllRecordsIsHeldOnce() {
    Iterable<InternalRow> rows =
        () -> IntStream.range(0, 200_000).mapToObj(i -> block(2, 0, new long[256])).iterator();
    List<Row> results = compared(rows); // 400 MB if all were held
    assertEquals(2, results.size());
    assertEquals(51_200_000L, number(results.get(1), "judged"));
  }

  @Test
  void textsAreReturnedAsTheyCome() {
    Object[] note = new Object[FieldRows.SCHEMA.length()];
    note[FieldRows.SCHEMA.fieldIndex("part")] = 3;
    note[FieldRows.SCHEMA.fieldIndex("note")] = UTF8String.fromString("{}");
    Object[] totals = new Object[FieldRows.SCHEMA.length()];
    totals[FieldRows.SCHEMA.fieldIndex("totals")] = UTF8String.fromString("[]");
    List<Row> results =
        compared(List.of(new GenericInternalRow(note), new GenericInternalRow(totals)));
    assertEquals(3, get(results.get(0), "part"));
    assertEquals("{}", get(results.get(0), "note"));
    assertEquals("[]", get(results.get(1), "totals"));
  }

  @Test
  void rulesAreReadFromJson() {
    String json =
        "[{\"rule\": 0, \"kind\": \"UNIQUE\", \"parts\": [{}], \"within\": 20},"
            + " {\"rule\": 1, \"kind\": \"UNIQUE\", \"parts\": [{}], \"buckets\": 3}]";
    assertEquals(List.of(20L, -1L), FieldRules.rules(json).stream().map(Rule::within).toList());
  }
}
