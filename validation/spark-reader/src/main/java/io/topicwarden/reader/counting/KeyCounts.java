package io.topicwarden.reader.counting;

/** What is counted of one key of one partition. The key is known by its hash. */
public interface KeyCounts {
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

  long lastOffset();

  /** Returns whether the last record is a tombstone. */
  boolean isDeleted();

  /** Returns {@link Partitioners#fits}, or {@link Partitioners#NOT_CHECKED}. */
  int fits();
}
