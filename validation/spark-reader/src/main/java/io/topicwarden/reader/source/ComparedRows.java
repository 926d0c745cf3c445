package io.topicwarden.reader.source;

import io.topicwarden.reader.fields.FieldRules;
import io.topicwarden.reader.fields.FieldRules.Rule;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;

/**
 * Makes few rows of the records that rules compare, without a change of what {@link ComparedGroups}
 * finds in them, in bounded memory:
 *
 * <ul>
 *   <li>{@code ordered}: of a run of records of one key and partition whose values rise, only the
 *       first and the last can be next to a record that breaks the rule;
 *   <li>{@code references}: records of one partition that refer to one key, and are all old enough
 *       to be judged or all too young, share a row with the first offset;
 *   <li>of the keys that are referred to, the last record of each partition decides;
 *   <li>{@code unique} without a period: only hashes of identities, in blocks by bucket. Buckets in
 *       which one occurs twice are read again, with a row for each record.
 * </ul>
 *
 * <p>The records of a partition must come in the order of their offsets. Used by one thread.
 */
final class ComparedRows {
  /** A row, whose fields change until it is complete. */
  static final class Row {
    final int part;
    final Rule rule;
    final long identity;
    long offset;
    long time;
    byte[] value;
    long records = 1; // for which the row stands

    Row(int part, Rule rule, long identity, long offset, long time, byte[] value) {
      this.part = part;
      this.rule = rule;
      this.identity = identity;
      this.offset = offset;
      this.time = time;
      this.value = value;
    }

    private boolean isLike(Row other) {
      return identity == other.identity
          && part == other.part
          && rule.number() == other.rule.number()
          && (rule.kind() != FieldRules.Kind.REFERENCES
              || rule.isOld(time) == rule.isOld(other.time));
    }

    private void become(Row later) {
      offset = later.offset;
      time = later.time;
      value = later.value;
    }
  }

  /** Receives complete rows; {@code hashes} are the identities of a block, or null. */
  interface Output {
    void add(Row row, long[] hashes);
  }

  /** The identities of one bucket that have not been passed on. */
  private static final class Block {
    long[] hashes = new long[FIRST_LENGTH];
    int length;
  }

  private record Buckets(Rule rule, Block[] blocks) {}

  private static final int SETS = 1 << 14;
  private static final int WAYS = 4;
  private static final int LONGEST_VALUE = 128; // bytes; longer ones are not kept
  private static final int BLOCK_LENGTH = 256;
  private static final int FIRST_LENGTH = 8; // of a block; most are short if there are many topics
  private static final int MOST_HELD = 1 << 20; // hashes in the blocks of all rules: 8 MB
  private static final long GOLDEN = 0x9E3779B97F4A7C15L;

  private final Output output;
  private final Row[] kept = new Row[SETS * WAYS];
  private final Map<Integer, Buckets> byRule = new HashMap<>();
  private int victim;
  private int held; // the length of the arrays of all blocks

  ComparedRows(Output output) {
    this.output = output;
  }

  /** Adds a record as a row of its own. */
  void add(Row row) {
    Rule rule = row.rule;
    if (rule.kind() == FieldRules.Kind.UNIQUE) {
      addIdentity(row);
    } else if (row.value != null && row.value.length > LONGEST_VALUE) {
      remove(row);
      output.add(row, null);
    } else {
      merge(row);
    }
  }

  private void addIdentity(Row row) {
    int buckets = row.rule.buckets();
    if (buckets == 0) {
      output.add(row, null);
      return;
    }
    int bucket = (int) (((row.identity * GOLDEN) >>> 33) % buckets);
    if (!row.rule.selected().isEmpty()) {
      if (row.rule.selected().get(bucket)) {
        output.add(row, null);
      }
      return;
    }
    Block[] own =
        byRule
            .computeIfAbsent(row.rule.number(), number -> new Buckets(row.rule, new Block[buckets]))
            .blocks();
    if (own[bucket] == null) {
      own[bucket] = new Block();
      held += FIRST_LENGTH;
    }
    Block block = own[bucket];
    if (block.length == block.hashes.length) {
      held += block.length;
      block.hashes = Arrays.copyOf(block.hashes, 2 * block.length);
    }
    block.hashes[block.length++] = row.identity;
    if (block.length == BLOCK_LENGTH) {
      pass(row.rule, bucket, block);
    } else if (held > MOST_HELD) {
      passBlocks();
    }
  }

  private void passBlocks() {
    for (Buckets own : byRule.values()) {
      for (int bucket = 0; bucket < own.blocks().length; bucket++) {
        Block block = own.blocks()[bucket];
        if (block != null && block.length > 0) {
          pass(own.rule(), bucket, block);
        }
      }
    }
    byRule.clear();
    held = 0;
  }

  private void pass(Rule rule, int bucket, Block block) {
    Row row = new Row(0, rule, bucket, 0, 0, new byte[0]);
    row.records = block.length;
    output.add(row, Arrays.copyOf(block.hashes, block.length));
    block.length = 0;
  }

  private int firstSlot(Row row) {
    long mixed = (row.identity ^ row.part ^ ((long) row.rule.number() << 32)) * GOLDEN;
    return (int) (mixed >>> 50) * WAYS; // as many bits as there are sets
  }

  private void merge(Row row) {
    int first = firstSlot(row);
    int free = -1;
    for (int slot = first; slot < first + WAYS; slot++) {
      if (kept[slot] == null) {
        free = slot;
      } else if (kept[slot].isLike(row)) {
        extend(kept[slot], row);
        return;
      }
    }
    if (free < 0) {
      free = first + (victim++ & (WAYS - 1));
      pass(kept[free]);
    }
    kept[free] = row;
    if (row.rule.kind() == FieldRules.Kind.ORDERED) {
      begin(row);
    }
  }

  /** Passes on the first record of a run; the row that is kept then stands for the later ones. */
  private void begin(Row row) {
    output.add(row, null);
    row.records = 0;
  }

  private void extend(Row row, Row later) {
    switch (row.rule.kind()) {
      case ORDERED -> {
        if (rises(row, later)) {
          row.become(later);
          row.records++;
        } else {
          pass(row);
          row.become(later);
          row.records = 1;
          begin(row);
        }
      }
      case REFERENCES -> row.records++;
      default -> row.become(later);
    }
  }

  private static boolean rises(Row row, Row later) {
    return Rule.haveOrder(row.value, later.value)
        && !row.rule.isBroken(later.time, later.value, row.time, row.value);
  }

  /** Passes on the row that is kept of a record's identity: the record cannot be kept. */
  private void remove(Row row) {
    int first = firstSlot(row);
    for (int slot = first; slot < first + WAYS; slot++) {
      if (kept[slot] != null && kept[slot].isLike(row)) {
        pass(kept[slot]);
        kept[slot] = null;
      }
    }
  }

  private void pass(Row row) {
    if (row.records > 0) {
      output.add(row, null);
    }
  }

  /** Passes on what is kept. */
  void close() {
    for (int slot = 0; slot < kept.length; slot++) {
      if (kept[slot] != null) {
        pass(kept[slot]);
        kept[slot] = null;
      }
    }
    passBlocks();
  }
}
