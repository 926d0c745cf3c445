package topicwarden;

import java.io.Serializable;
import org.apache.kafka.common.TopicPartition;

/** Offsets from {@code start} to before {@code end} of a partition; {@code part} is what Spark knows it by. */
record OffsetRange(int part, TopicPartition place, long start, long end) implements Serializable {
  static OffsetRange parse(String entry) {
    String[] fields = entry.split(":");
    TopicPartition place = new TopicPartition(fields[1], Integer.parseInt(fields[2]));
    return new OffsetRange(Integer.parseInt(fields[0]), place, Long.parseLong(fields[3]), Long.parseLong(fields[4]));
  }
}
