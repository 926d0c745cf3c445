package io.topicwarden.reader.codecs;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Counts the schema ids that keys and values name in Confluent's wire format, by block of offsets,
 * in bounded memory. A later audit needs the blocks to leave out records that were deleted since.
 */
public final class SchemaIds {
  /** The most ids of keys, and of values, that are counted one by one. */
  static final int MAX_IDS = 100;

  private static final int HEADER_BYTES = 5;

  /** The ids of all records after {@link #MAX_IDS} others. */
  private static final String OTHER_IDS = "others";

  /**
   * The records of a block that name the same schema id.
   *
   * @param id an Integer, {@link #OTHER_IDS}, or null for records that are not in the wire format
   * @param invalid whether the key or value breaks its contract
   */
  private record Row(long block, Object id, boolean invalid, Occurrences occurrences) {}

  private static final class Occurrences {
    final long firstOffset;
    long count;

    Occurrences(long firstOffset) {
      this.firstOffset = firstOffset;
    }
  }

  /** The ids of the keys or of the values; the records come in the order of their offsets. */
  private static final class PartIds {
    final List<Row> rows = new ArrayList<>();
    final Set<Integer> known = new HashSet<>();
    final Map<Object, Occurrences> validInBlock = new HashMap<>();
    final Map<Object, Occurrences> invalidInBlock = new HashMap<>();
    long block = -1;
  }

  private final long blockSize;
  private final Map<String, PartIds> byPart = new HashMap<>();

  /** Creates the counts of an offset range with blocks of {@code blockSize} offsets. */
  public SchemaIds(long blockSize) {
    this.blockSize = blockSize;
  }

  /**
   * Counts a key or a value.
   *
   * @param part {@code key} or {@code value}
   * @param data the bytes, or null, which names no schema
   */
  void add(String part, byte[] data, long offset, boolean invalid) {
    if (data == null) {
      return;
    }
    PartIds ids = byPart.computeIfAbsent(part, any -> new PartIds());
    long block = Math.floorDiv(offset, blockSize);
    if (block != ids.block) {
      ids.block = block;
      ids.validInBlock.clear();
      ids.invalidInBlock.clear();
    }
    Map<Object, Occurrences> inBlock = invalid ? ids.invalidInBlock : ids.validInBlock;
    Object id = id(ids, data);
    Occurrences occurrences = inBlock.get(id);
    if (occurrences == null) {
      occurrences = new Occurrences(offset);
      inBlock.put(id, occurrences);
      ids.rows.add(new Row(block, id, invalid, occurrences));
    }
    occurrences.count++;
  }

  private static Object id(PartIds ids, byte[] data) {
    if (data.length < HEADER_BYTES || data[0] != 0) {
      return null;
    }
    Integer id = ByteBuffer.wrap(data, 1, Integer.BYTES).getInt();
    if (ids.known.contains(id) || (ids.known.size() < MAX_IDS && ids.known.add(id))) {
      return id;
    }
    return OTHER_IDS;
  }

  /** Returns whether no record was counted. */
  public boolean isEmpty() {
    return byPart.isEmpty();
  }

  /** Adds for each part arrays of block, id, whether invalid, number of records, first offset. */
  public void writeTo(ObjectNode json) {
    byPart.forEach(
        (part, ids) -> {
          ArrayNode array = json.putArray(part);
          for (Row row : ids.rows) {
            ArrayNode values = array.addArray().add(row.block());
            if (row.id() instanceof Integer id) {
              values.add(id);
            } else {
              values.add((String) row.id());
            }
            values.add(row.invalid());
            values.add(row.occurrences().count).add(row.occurrences().firstOffset);
          }
        });
  }
}
