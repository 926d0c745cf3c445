package io.topicwarden.reader.counting;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;

class PartitionIdsTest {
  private static final UTF8String A = UTF8String.fromString("a");
  private static final UTF8String B = UTF8String.fromString("b");
  private final PartitionIds ids =
      new PartitionIds("[[\"a\", 0, 7], [\"a\", 3, 8], [\"b\", 0, 9]]");

  @Test
  void returnsTheIdOfEachPartition() {
    assertEquals(7, ids.get(A, 0));
    assertEquals(8, ids.get(A, 3));
    assertEquals(9, ids.get(B, 0));
    assertEquals(PartitionIds.NOT_SELECTED, ids.get(B, 3));
    assertEquals(PartitionIds.NOT_SELECTED, ids.get(UTF8String.fromString("c"), 0));
    assertEquals(7, ids.get(A, 0));
  }

  @Test
  void executorsGetTheSameIds() throws Exception {
    ids.get(A, 0);
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
      out.writeObject(ids);
    }
    try (ObjectInputStream in =
        new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
      assertEquals(8, ((PartitionIds) in.readObject()).get(A, 3));
    }
  }

  @Test
  void refusesWhatIsNotJson() {
    assertThrows(IllegalArgumentException.class, () -> new PartitionIds("["));
  }
}
