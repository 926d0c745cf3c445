package io.topicwarden.reader.source;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;

/**
 * The offsets of a partition from {@code start} (inclusive) to {@code end} (exclusive).
 *
 * @param partitionId the number by which the audit knows the partition
 */
record OffsetRange(int partitionId, TopicPartition partition, long start, long end)
    implements Serializable {
  /** Parses the ranges of a task, separated by spaces. The list can be serialized. */
  static List<OffsetRange> parseAll(String task) {
    return Arrays.stream(task.split(" ", -1))
        .map(OffsetRange::parse)
        .collect(Collectors.toCollection(ArrayList::new));
  }

  /** Parses {@code partition id:topic:partition:start:end}. */
  static OffsetRange parse(String entry) {
    String[] fields = entry.split(":", -1);
    return new OffsetRange(
        Integer.parseInt(fields[0]),
        new TopicPartition(fields[1], Integer.parseInt(fields[2])),
        Long.parseLong(fields[3]),
        Long.parseLong(fields[4]));
  }
}
