package topicwarden;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Keeps a task to so many bytes a second, by asking for more no earlier than they allow. */
final class Pace {
  private final long rate;
  private final long begun = System.nanoTime();
  private long bytes;

  Pace(long rate) {
    this.rate = rate;
  }

  void add(ConsumerRecord<byte[], byte[]> record) {
    bytes += Math.max(0, record.serializedKeySize()) + Math.max(0, record.serializedValueSize());
  }

  /** Waits if what was read runs ahead of the rate. */
  void keep() throws IOException {
    long ahead = rate == 0 ? 0 : Math.max(0, (long) (1e9 * bytes / rate) - (System.nanoTime() - begun));
    try {
      TimeUnit.NANOSECONDS.sleep(ahead);
    } catch (InterruptedException error) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while it kept to " + rate + " bytes a second", error);
    }
  }
}
