package io.topicwarden.reader.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.topicwarden.reader.fields.FieldRules.Kind;
import io.topicwarden.reader.fields.FieldRules.Rule;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

class ComparedRowsTest {
  private record Made(
      int part, int rule, long identity, long offset, long time, byte[] value, long records) {}

  private static final long OLD_BEFORE = 500;

  private final Random random = new Random(20_261_128);
  private final List<Made> made = new ArrayList<>();
  private final List<long[]> blocks = new ArrayList<>();
  private final ComparedRows rows =
      new ComparedRows(
          (row, hashes) -> {
            if (hashes == null) {
              made.add(copy(row));
            } else {
              assertEquals(hashes.length, row.records);
              blocks.add(hashes);
            }
          });

  private static Made copy(ComparedRows.Row row) {
    byte[] value = row.value == null ? null : row.value.clone();
    return new Made(
        row.part, row.rule.number(), row.identity, row.offset, row.time, value, row.records);
  }

  private static Rule rule(Kind kind, boolean strict, int buckets, int... selected) {
    BitSet chosen = new BitSet();
    Arrays.stream(selected).forEach(chosen::set);
    return new Rule(7, kind, List.of(), null, strict, OLD_BEFORE, -1, buckets, chosen);
  }

  /** Adds random records, of two partitions and many or few identities; returns all of them. */
  private List<Made> addRandom(Rule rule, int identities) {
    List<Made> all = new ArrayList<>();
    for (int offset = 0; offset < 100_000; offset++) {
      byte[] value = value(offset);
      ComparedRows.Row row =
          new ComparedRows.Row(
              offset & 1,
              rule,
              random.nextInt(identities) * 0x9E3779B97F4A7C15L,
              offset,
              random.nextInt(1_000) - 1,
              value);
      all.add(copy(row));
      rows.add(row);
    }
    rows.close();
    return all;
  }

  /** Mostly rising; sometimes of another kind, absent, equal, smaller, or too long to be kept. */
  private byte[] value(int offset) {
    return switch (random.nextInt(40)) {
      case 0 -> null;
      case 1 -> new byte[] {1, 1};
      case 2 -> new byte[] {2, 0, (byte) random.nextInt()};
      case 3 -> Arrays.copyOf(new byte[] {2, (byte) (offset >> 16)}, 200);
      default -> new byte[] {2, (byte) (offset >> 16), (byte) (offset >> 10), (byte) (offset >> 7)};
    };
  }

  private static Map<String, List<Made>> byIdentityAndPart(List<Made> rows) {
    Map<String, List<Made>> sorted = new TreeMap<>();
    rows.stream()
        .sorted(Comparator.comparingLong(Made::offset))
        .forEach(
            row ->
                sorted
                    .computeIfAbsent(row.identity + "/" + row.part, any -> new ArrayList<>())
                    .add(row));
    return sorted;
  }

  /** Returns each record that is not above the one before it, with the offset of that one. */
  private static Set<String> falls(List<Made> rows, boolean strict) {
    Set<String> found = new TreeSet<>();
    byIdentityAndPart(rows)
        .values()
        .forEach(
            run -> {
              for (int i = 1; i < run.size(); i++) {
                byte[] before = run.get(i - 1).value;
                byte[] value = run.get(i).value;
                if (before != null && value != null && before[0] == value[0]) {
                  int order = Arrays.compareUnsigned(value, before);
                  if (strict ? order <= 0 : order < 0) {
                    found.add(run.get(i - 1).offset + " " + run.get(i).offset);
                  }
                }
              }
            });
    return found;
  }

  private static long judged(List<Made> rows) {
    return rows.stream().filter(row -> row.value != null).mapToLong(Made::records).sum();
  }

  private void assertSameOrder(boolean strict, int identities) {
    List<Made> all = addRandom(rule(Kind.ORDERED, strict, 0), identities);
    assertEquals(falls(all, strict), falls(made, strict));
    assertTrue(falls(all, strict).size() > 1_000);
    assertEquals(judged(all), judged(made));
  }

  @Test
  void fewRowsHaveTheFallsOfAllRecords() {
    assertSameOrder(false, 50);
    assertTrue(made.size() < 30_000, made.size() + " rows");
  }

  @Test
  void fewRowsHaveTheEqualValuesOfAllRecords() {
    assertSameOrder(true, 50);
  }

  @Test
  void moreIdentitiesThanAreKeptHaveTheSameFalls() {
    for (int i = 0; i < 200_000; i++) { // fill what is kept
      Rule other = new Rule(8, Kind.REFERENCES, List.of(), null, false, 0, -1, 0, new BitSet());
      rows.add(new ComparedRows.Row(0, other, random.nextLong(), i, 0, new byte[0]));
    }
    made.clear();
    List<Made> all = addRandom(rule(Kind.ORDERED, false, 0), 5_000);
    made.removeIf(row -> row.rule == 8);
    assertEquals(falls(all, false), falls(made, false));
  }

  @Test
  void referencesToOneKeyShareARowByAge() {
    List<Made> all = addRandom(rule(Kind.REFERENCES, false, 0), 20);
    assertEquals(references(all), references(made));
  }

  /** Returns the records and the first offset of each identity, partition and age. */
  private static Map<String, String> references(List<Made> rows) {
    Map<String, long[]> found = new TreeMap<>();
    for (Made row : rows) {
      boolean old = row.time >= 0 && row.time < OLD_BEFORE;
      long[] counted =
          found.computeIfAbsent(
              row.identity + "/" + row.part + "/" + old, any -> new long[] {0, Long.MAX_VALUE});
      counted[0] += row.records;
      counted[1] = Math.min(counted[1], row.offset);
    }
    Map<String, String> text = new TreeMap<>();
    found.forEach((key, counted) -> text.put(key, Arrays.toString(counted)));
    return text;
  }

  @Test
  void theLastRecordOfAKeyDecidesWhetherItIsPresent() {
    List<Made> all = addRandom(rule(Kind.REFERENCED, false, 0), 500);
    Map<String, List<Made>> expected = byIdentityAndPart(all);
    Map<String, List<Made>> found = byIdentityAndPart(made);
    assertEquals(expected.keySet(), found.keySet());
    expected.forEach(
        (key, records) -> {
          Made last = records.get(records.size() - 1);
          List<Made> kept = found.get(key);
          Made lastKept = kept.get(kept.size() - 1);
          assertEquals(last.offset, lastKept.offset);
          assertEquals(last.value == null, lastKept.value == null);
        });
  }

  @Test
  void identitiesOfABucketAreInItsBlocks() {
    List<Made> all = addRandom(rule(Kind.UNIQUE, false, 16), 30_000);
    assertEquals(List.of(), made);
    long[] hashes = blocks.stream().flatMapToLong(Arrays::stream).sorted().toArray();
    assertEquals(
        Arrays.toString(all.stream().mapToLong(Made::identity).sorted().toArray()),
        Arrays.toString(hashes));
  }

  @Test
  void identitiesOfManyRulesAreHeldInBoundedMemory() {
    int rulesCount = 100;
    int buckets = 1 << 15; // so that nearly each identity has a bucket of its own
    List<Rule> rules = new ArrayList<>();
    for (int number = 0; number < rulesCount; number++) {
      rules.add(
          new Rule(number, Kind.UNIQUE, List.of(), null, false, 0, -1, buckets, new BitSet()));
    }
    int total = 400_000;
    for (int offset = 0; offset < total; offset++) {
      Rule rule = rules.get(offset % rulesCount);
      rows.add(new ComparedRows.Row(0, rule, random.nextLong(), offset, 0, new byte[0]));
    }
    int passed = blocks.stream().mapToInt(hashes -> hashes.length).sum();
    assertTrue(passed > total / 2, passed + " were passed on before the end");
    rows.close();
    assertEquals(total, blocks.stream().mapToInt(hashes -> hashes.length).sum());
  }

  @Test
  void selectedBucketsHaveARowForEachRecord() {
    Rule selected = rule(Kind.UNIQUE, false, 2, 1);
    List<Made> all = addRandom(selected, 30_000);
    assertEquals(0, blocks.size());
    assertTrue(made.size() > all.size() / 3 && made.size() < all.size() * 2 / 3);
    assertTrue(made.stream().allMatch(row -> row.records == 1));
  }

  @Test
  void rulesOfAPeriodHaveARowForEachRecord() {
    assertEquals(addRandom(rule(Kind.UNIQUE, false, 0), 100).size(), made.size());
  }
}
