package topicwarden;

import java.util.List;
import java.util.zip.CRC32;
import org.apache.kafka.common.utils.Utils;

/**
 * Where producers put a key, by the algorithms of their clients; bit {@code i} of {@link #fits} is the i-th of
 * {@link #NAMES}, which are those of {@code audit/algorithms.py}.
 *
 * <p>Java, franz-go, librdkafka's murmur2 and murmur2_random: {@code BuiltInPartitioner.partitionForKey}. librdkafka's
 * consistent and consistent_random: {@code rd_crc32}. fnv1a: {@code rd_fnv1a}, which takes the absolute value of the
 * signed hash as Sarama's hash partitioner does; fnv1a-masked: Sarama's reference hash partitioner, which clears the
 * sign; fnv1a-unsigned: the plain hash.
 */
final class Partitioners {
  static final List<String> NAMES = List.of("murmur2", "crc32", "fnv1a", "fnv1a-masked", "fnv1a-unsigned");

  private static final int NO_SIGN = 0x7fffffff;
  private static final long UNSIGNED = 0xffffffffL;

  private Partitioners() {}

  static int murmur2(byte[] key) {
    return Utils.murmur2(key) & NO_SIGN;
  }

  static long crc32(byte[] key) {
    CRC32 sum = new CRC32();
    sum.update(key);
    return sum.getValue();
  }

  static int fnv1a(byte[] key) {
    int hash = 0x811c9dc5;
    for (byte one : key) {
      hash = (hash ^ (one & 0xff)) * 0x01000193;
    }
    return hash;
  }

  /** Which algorithms put {@code key} into {@code partition} of {@code count}. */
  static int fits(byte[] key, int partition, int count) {
    int fnv1a = fnv1a(key);
    // An empty key is no key to librdkafka's consistent_random: it goes anywhere.
    return (murmur2(key) % count == partition ? 1 : 0)
        | (key.length == 0 || crc32(key) % count == partition ? 2 : 0)
        | (Math.abs((long) fnv1a) % count == partition ? 4 : 0)
        | ((fnv1a & NO_SIGN) % count == partition ? 8 : 0)
        | ((fnv1a & UNSIGNED) % count == partition ? 16 : 0);
  }
}
