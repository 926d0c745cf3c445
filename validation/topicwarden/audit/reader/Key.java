package topicwarden;

/** What was counted of a key, by its hash, in one part. */
interface Key {
  int part();

  long hash();

  long records();

  /** Of its records, those below the border of what has rolled. */
  long rolled();

  /** Of its records, those below the border of what may be cleaned. */
  long cleanable();

  int largestRecord();

  long firstOffset();

  long lastOffset();

  /** Whether the last record is a tombstone. */
  boolean deleted();

  /** See {@link Partitioners#fits}; {@link Keys#UNASKED} where no partitioner is asked for. */
  int fits();
}
