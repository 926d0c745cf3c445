package io.topicwarden.reader.counting;

/** What is counted of one key of one partition. The key is known by its hash. */
public interface KeyCounts {
  /** The offset of a record that does not exist, or that is not known. */
  long NO_OFFSET = Long.MAX_VALUE;

  int partitionId();

  long hash();

  long records();

  /**
   * Returns how many of the records are below {@link CountingRules.PartitionRules#rolledBefore}.
   */
  long rolled();

  /** Returns how many are below {@link CountingRules.PartitionRules#cleanableBefore}. */
  long cleanable();

  /** Returns the size of key and value of the largest record. */
  int largestRecord();

  long firstOffset();

  /**
   * Returns the offset of the second record, or {@link #NO_OFFSET} if there is none. After a merge
   * of the counts of several tasks, it is that of the first record that repeats the key within the
   * range of one task.
   */
  long secondOffset();

  long lastOffset();

  /** Returns whether the last record is a tombstone. */
  boolean isDeleted();

  /** Returns {@link Partitioners#fits}, or {@link Partitioners#NOT_CHECKED}. */
  int fits();
}
