package io.topicwarden.reader.counting;

import java.util.Arrays;

/** A growing array of longs. */
final class LongList {
  private long[] values = new long[1 << 10];
  private int size;

  void add(long... more) {
    if (size + more.length > values.length) {
      values = Arrays.copyOf(values, Math.max(2 * values.length, size + more.length));
    }
    System.arraycopy(more, 0, values, size, more.length);
    size += more.length;
  }

  long[] toArray() {
    return Arrays.copyOf(values, size);
  }
}
