package io.topicwarden.reader.counting;

import java.util.List;
import java.util.zip.CRC32;
import org.apache.kafka.common.utils.Utils;

/**
 * The partitioners of Kafka's clients. The names and their order are those of {@code
 * audit/scan/partitioner_bits.py}.
 *
 * <ul>
 *   <li>{@code murmur2}: Java's {@code BuiltInPartitioner.partitionForKey}, franz-go, librdkafka's
 *       murmur2 and murmur2_random.
 *   <li>{@code crc32}: librdkafka's consistent and consistent_random ({@code rd_crc32}).
 *   <li>{@code fnv1a}: librdkafka's fnv1a and Sarama's hash partitioner, which take the absolute
 *       value of the signed hash.
 *   <li>{@code fnv1a-masked}: Sarama's reference hash partitioner, which clears the sign bit.
 *   <li>{@code fnv1a-unsigned}: the unsigned hash.
 * </ul>
 */
public final class Partitioners {
  /** The names, in the order of the bits of {@link #fits}. */
  public static final List<String> NAMES =
      List.of("murmur2", "crc32", "fnv1a", "fnv1a-masked", "fnv1a-unsigned");

  /** Instead of {@link #fits}, if the placement of keys is not checked. */
  public static final int NOT_CHECKED = -1;

  private static final int WITHOUT_SIGN = 0x7fffffff;

  private Partitioners() {}

  /** Returns Kafka's murmur2 hash without its sign bit. */
  public static int murmur2(byte[] key) {
    return Utils.murmur2(key) & WITHOUT_SIGN;
  }

  /** Returns the CRC-32 checksum. */
  public static long crc32(byte[] key) {
    CRC32 checksum = new CRC32();
    checksum.update(key);
    return checksum.getValue();
  }

  /** Returns the 32-bit FNV-1a hash. */
  public static int fnv1a(byte[] key) {
    int hash = 0x811c9dc5;
    for (byte next : key) {
      hash = (hash ^ (next & 0xff)) * 0x01000193;
    }
    return hash;
  }

  /**
   * Returns the partitioners that put a key into a partition: bit {@code i} is the i-th of {@link
   * #NAMES}.
   */
  public static int fits(byte[] key, int partition, int partitionCount) {
    int fnv1a = fnv1a(key);
    return (murmur2(key) % partitionCount == partition ? 1 : 0)
        | (crc32(key) % partitionCount == partition ? 2 : 0)
        | (Math.abs((long) fnv1a) % partitionCount == partition ? 4 : 0)
        | ((fnv1a & WITHOUT_SIGN) % partitionCount == partition ? 8 : 0)
        | (Integer.toUnsignedLong(fnv1a) % partitionCount == partition ? 16 : 0);
  }
}
