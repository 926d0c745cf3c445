package io.topicwarden.reader.source;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class RateLimiterTest {
  private long clock = 77;
  private final List<Long> slept = new ArrayList<>();

  private RateLimiter limiter(long bytesPerSecond) {
    return new RateLimiter(
        bytesPerSecond,
        () -> clock,
        nanos -> {
          slept.add(nanos);
          clock += nanos;
        });
  }

  private static void add(RateLimiter limiter, String key, String value) {
    limiter.add(TestConsumer.record(TestConsumer.PARTITION, 0, 0, key, value));
  }

  @Test
  void waitsUntilTheBytesAreWithinTheLimit() throws IOException {
    RateLimiter limiter = limiter(10);
    add(limiter, "12345", "123456789012345"); // 20 bytes: two seconds
    clock += 500_000_000;
    limiter.await();
    assertEquals(List.of(1_500_000_000L), slept);
    limiter.await();
    assertEquals(0, slept.get(1));
  }

  @Test
  void doesNotWaitBehindTheLimit() throws IOException {
    RateLimiter limiter = limiter(10);
    add(limiter, "k", "v");
    clock += 10_000_000_000L;
    limiter.await();
    assertEquals(List.of(0L), slept);
  }

  @Test
  void anAbsentKeyOrValueHasNoBytes() throws IOException {
    RateLimiter limiter = limiter(10);
    add(limiter, null, null);
    limiter.await();
    assertEquals(List.of(0L), slept);
  }

  @Test
  void zeroIsNoLimit() throws IOException {
    RateLimiter limiter = limiter(0);
    add(limiter, "key", "value");
    limiter.await();
    assertEquals(List.of(), slept);
  }

  @Test
  void anInterruptEndsTheTask() {
    RateLimiter limiter =
        new RateLimiter(
            1,
            () -> 0,
            nanos -> {
              throw new InterruptedException();
            });
    assertThrows(IOException.class, limiter::await);
    assertTrue(Thread.interrupted());
  }
}
