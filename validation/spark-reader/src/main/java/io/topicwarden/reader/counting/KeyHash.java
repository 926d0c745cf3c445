package io.topicwarden.reader.counting;

import org.apache.spark.sql.catalyst.expressions.XXH64;
import org.apache.spark.unsafe.Platform;

/** The 64-bit hash by which keys are known: the same as Spark's SQL function {@code xxhash64}. */
public final class KeyHash {
  private static final long SPARK_SQL_SEED = 42;

  private KeyHash() {}

  /** Returns the hash of a key. */
  public static long of(byte[] key) {
    return XXH64.hashUnsafeBytes(key, Platform.BYTE_ARRAY_OFFSET, key.length, SPARK_SQL_SEED);
  }
}
