package io.topicwarden.reader.counting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.topicwarden.reader.Json;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

/** Rows of groups, and their totals in {@link GroupTotals}. */
class GroupRowTest {
  private static final String RULES =
      """
      {"now": 1000, "bands": [0, 100], "block": 10, "bands_at_most": 16, "parts": [
        {"part": 2, "by_key": true, "rolled_border": 5, "cleanable_border": 5},
        {"part": 3, "by_key": false}]}
      """;

  private final GroupRow groupRow = new GroupRow();

  /** Converts as Spark does between the reader and a typed function. */
  private static Row external(InternalRow row) {
    Object[] values = new Object[GroupRow.SCHEMA.size()];
    for (int i = 0; i < GroupRow.SCHEMA.size(); i++) {
      DataType type = GroupRow.SCHEMA.fields()[i].dataType();
      Object value = row.isNullAt(i) ? null : row.get(i, type);
      values[i] = value instanceof UTF8String ? value.toString() : value;
    }
    return RowFactory.create(values);
  }

  private static BlockCounts block(long timestamp, String... values) {
    BlockCounts counts = new BlockCounts();
    for (int offset = 0; offset < values.length; offset++) {
      ConsumerRecord<byte[], byte[]> record =
          Records.record(offset, timestamp, "k", values[offset]);
      counts.add(record, Records.size(record), Records.NO_RULES);
    }
    return counts;
  }

  private static KeyCounts key(int partitionId, long hash, long records, boolean deleted) {
    return GroupRow.keyOf(
        RowFactory.create(
            partitionId,
            null,
            true,
            hash,
            records,
            1L,
            1L,
            9,
            4L,
            5L,
            7L,
            deleted ? 7L : null,
            null));
  }

  @Test
  void theColumnsAreThoseOfThePythonSide() {
    assertEquals(
        List.of(
            ("part note keyed bucket records rolled cleanable largest_record first_offset "
                    + "second_offset last_offset last_tombstone fits payload_bytes null_keys first_null_key "
                    + "tombstones empty_values first_empty_value cleanable_bytes expired "
                    + "expired_behind_future first_timestamp last_timestamp")
                .split(" ", -1)),
        Arrays.asList(GroupRow.SCHEMA.fieldNames()));
  }

  @Test
  void aBlockHasNoColumnsOfKeys() {
    groupRow.writeKey(key(2, 5, 2, true)); // leaves nothing behind
    groupRow.writeBlock(3, 161, block(950, "v", ""));
    Row row = external(groupRow.row());
    assertEquals(3, row.getInt(GroupRow.PARTITION_ID));
    assertEquals(161, row.getLong(GroupRow.GROUP));
    assertFalse(row.getBoolean(GroupRow.IS_KEY));
    assertEquals(2, row.getLong(GroupRow.RECORDS));
    assertEquals(2, row.getInt(GroupRow.LARGEST_RECORD));
    assertTrue(row.isNullAt(GroupRow.SUMMARY));
    assertTrue(row.isNullAt(GroupRow.LAST_OFFSET));
    assertTrue(row.isNullAt(GroupRow.FITS));
    assertTrue(row.isNullAt(row.size() - 9)); // first_null_key
    assertEquals(1L, row.getLong(row.size() - 6)); // first_empty_value
  }

  @Test
  void aKeyHasNoColumnsOfBlocks() {
    groupRow.writeBlock(3, 161, block(950, "v"));
    groupRow.writeKey(key(2, -5, 2, true));
    Row row = external(groupRow.row());
    assertTrue(row.getBoolean(GroupRow.IS_KEY));
    assertEquals(-5, row.getLong(GroupRow.GROUP));
    assertEquals(7, row.getLong(GroupRow.LAST_TOMBSTONE));
    for (int column = GroupRow.FITS; column < row.size(); column++) {
      assertTrue(row.isNullAt(column));
    }
  }

  @Test
  void aSummaryHasNothingElse() {
    groupRow.writeSummary(3, "{\"start\":0}");
    Row row = external(groupRow.row());
    assertEquals("{\"start\":0}", row.getString(GroupRow.SUMMARY));
    assertFalse(row.getBoolean(GroupRow.IS_KEY));
    for (int column = GroupRow.GROUP; column < row.size(); column++) {
      assertTrue(row.isNullAt(column));
    }
  }

  @Test
  void groupsAreAddedUpByPartition() throws Exception {
    groupRow.writeBlock(3, 1, block(950, "v", ""));
    Row block = external(groupRow.row());
    groupRow.writeBlock(3, 17, block(950, "longer"));
    Row otherBlock = external(groupRow.row());
    groupRow.writeBlock(3, 2, block(900, "old"));
    Row oldBlock = external(groupRow.row());
    groupRow.writeSummary(3, "{}");
    Row summary = external(groupRow.row());
    groupRow.writeKey(key(2, 6, 3, true));
    Row key = external(groupRow.row());
    Iterator<String> totals =
        new GroupTotals(RULES).call(List.of(block, key, otherBlock, summary, oldBlock).iterator());
    var ofKeys = Json.MAPPER.readTree(totals.next());
    var ofBlocks = Json.MAPPER.readTree(totals.next());
    assertFalse(totals.hasNext());
    assertEquals(2, ofKeys.path("part").asInt());
    assertEquals(1, ofKeys.path("keys").path("keys").asInt());
    assertEquals(2, ofKeys.path("keys").path("superseded").asInt());
    assertEquals(7, ofKeys.path("keys").path("deleted_offset_2").asInt());
    assertEquals(3, ofBlocks.path("part").asInt());
    assertEquals("[\"{}\"]", ofBlocks.path("notes").toString());
    assertEquals(1, ofBlocks.path("bands").path(0).path("band").asInt());
    assertEquals(3, ofBlocks.path("bands").path(0).path("records").asInt());
    assertEquals(7, ofBlocks.path("bands").path(0).path("largest_record").asInt());
    assertEquals(2, ofBlocks.path("bands").path(1).path("band").asInt());
    assertTrue(ofBlocks.path("keys").isMissingNode());
  }

  @Test
  void aKeyIsDeletedOnlyIfItsLastRecordIsTheTombstone() {
    Row row = RowFactory.create(2, null, true, 6L, 3L, 0L, 0L, 9, 4L, 5L, 8L, 7L, 3);
    assertFalse(GroupRow.keyOf(row).isDeleted());
    assertEquals(3, GroupRow.keyOf(row).fits());
    assertEquals(Partitioners.NOT_CHECKED, key(2, 6, 3, false).fits());
  }
}
