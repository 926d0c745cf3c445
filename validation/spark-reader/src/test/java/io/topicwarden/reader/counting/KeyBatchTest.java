package io.topicwarden.reader.counting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.apache.spark.sql.execution.vectorized.OnHeapColumnVector;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.junit.jupiter.api.Test;

class KeyBatchTest {
  private static final StructType COLUMNS =
      StructType.fromDDL(
          "topic_id string, partition int, bucket long, records long, largest_record int, "
              + "first_offset long, rolled long, cleanable long, last_offset long, "
              + "last_tombstone long, fits int");

  @Test
  void describesTheCurrentRow() {
    OnHeapColumnVector[] columns = OnHeapColumnVector.allocateColumns(2, COLUMNS);
    columns[0].putByteArray(0, Records.bytes("id"));
    columns[0].putByteArray(1, Records.bytes("other"));
    for (int row = 0; row < 2; row++) {
      columns[1].putInt(row, 4);
      columns[2].putLong(row, -9 - row);
      columns[3].putLong(row, 5);
      columns[4].putInt(row, 6);
      columns[5].putLong(row, 7);
      columns[6].putLong(row, 2);
      columns[7].putLong(row, 1);
      columns[8].putLong(row, 20);
    }
    columns[9].putLong(0, 20);
    columns[9].putNull(1);
    columns[10].putInt(0, 3);
    columns[10].putNull(1);
    try (ColumnarBatch batch = new ColumnarBatch(columns, 2)) {
      KeyBatch key = new KeyBatch(batch, new PartitionIds("[[\"id\", 4, 11]]"));
      key.moveTo(0);
      assertEquals(11, key.partitionId());
      assertEquals(-9, key.hash());
      assertEquals(5, key.records());
      assertEquals(6, key.largestRecord());
      assertEquals(7, key.firstOffset());
      assertEquals(2, key.rolled());
      assertEquals(1, key.cleanable());
      assertEquals(20, key.lastOffset());
      assertTrue(key.isDeleted());
      assertEquals(3, key.fits());
      key.moveTo(1);
      assertEquals(PartitionIds.NOT_SELECTED, key.partitionId());
      assertEquals(-10, key.hash());
      assertFalse(key.isDeleted());
      assertEquals(Partitioners.NOT_CHECKED, key.fits());
    }
  }
}
