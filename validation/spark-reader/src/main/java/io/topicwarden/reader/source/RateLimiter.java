package io.topicwarden.reader.source;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Limits the bytes per second that a task reads, by delaying its polls. */
final class RateLimiter {
  /** Waits for a number of nanoseconds. */
  interface Sleeper {
    void sleep(long nanos) throws InterruptedException;
  }

  private final long bytesPerSecond;
  private final LongSupplier nanoTime;
  private final Sleeper sleeper;
  private final long startedAt;
  private long bytes;

  /**
   * Creates a limiter whose time starts now.
   *
   * @param bytesPerSecond the limit for keys and values, or 0 for no limit
   */
  RateLimiter(long bytesPerSecond) {
    this(bytesPerSecond, System::nanoTime, TimeUnit.NANOSECONDS::sleep);
  }

  RateLimiter(long bytesPerSecond, LongSupplier nanoTime, Sleeper sleeper) {
    this.bytesPerSecond = bytesPerSecond;
    this.nanoTime = nanoTime;
    this.sleeper = sleeper;
    this.startedAt = nanoTime.getAsLong();
  }

  /** Counts a record that was read. */
  void add(ConsumerRecord<byte[], byte[]> record) {
    bytes += Math.max(0, record.serializedKeySize()) + Math.max(0, record.serializedValueSize());
  }

  /** Waits until the bytes that were read are within the limit. */
  void await() throws IOException {
    if (bytesPerSecond == 0) {
      return;
    }
    long dueNanos = (long) (1e9 * bytes / bytesPerSecond);
    long elapsedNanos = nanoTime.getAsLong() - startedAt;
    try {
      sleeper.sleep(Math.max(0, dueNanos - elapsedNanos));
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IOException(
          "interrupted while waiting for the limit of " + bytesPerSecond + " bytes per second",
          error);
    }
  }
}
