package io.topicwarden.reader.inference;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;

/** A count, and the position of the first record that was counted. */
final class Tally {
  private long count;
  private int partition;
  private long offset;

  /** Returns the tally that {@link #writeTo} wrote; an empty one for a missing node. */
  static Tally from(JsonNode json) {
    Tally tally = new Tally();
    if (!json.isMissingNode()) {
      tally.add(json.get(0).asLong(), json.get(1).asInt(), json.get(2).asLong());
    }
    return tally;
  }

  long count() {
    return count;
  }

  void add(int partition, long offset) {
    add(1, partition, offset);
  }

  void add(Tally other) {
    if (other.count > 0) {
      add(other.count, other.partition, other.offset);
    }
  }

  private void add(long more, int otherPartition, long otherOffset) {
    boolean earlier =
        otherPartition < partition || (otherPartition == partition && otherOffset < offset);
    if (count == 0 || earlier) {
      partition = otherPartition;
      offset = otherOffset;
    }
    count += more;
  }

  /** Writes the count, the partition and the offset, unless the count is 0. */
  void writeTo(ObjectNode parent, String name) {
    if (count > 0) {
      parent.putArray(name).add(count).add(partition).add(offset);
    }
  }
}
