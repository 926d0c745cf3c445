package io.topicwarden.reader.counting;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Random;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PartitionersTest {
  private static final int MURMUR2 = 1;
  private static final int CRC32 = 2;
  private static final int FNV1A = 4;
  private static final int FNV1A_MASKED = 8;
  private static final int FNV1A_UNSIGNED = 16;

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  /** The vectors of Kafka's UtilsTest.testMurmur2. */
  @ParameterizedTest
  @CsvSource({
    "21, -973932308",
    "foobar, -790332482",
    "a-little-bit-long-string, -985981536",
    "a-little-bit-longer-string, -1486304829",
    "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8, -58897971",
    "abc, 479470107"
  })
  void murmur2MatchesKafka(String key, int hash) {
    assertEquals(hash & 0x7fffffff, Partitioners.murmur2(bytes(key)));
  }

  /** The check value of CRC-32 (ISO-HDLC). */
  @Test
  void crc32MatchesItsCheckValue() {
    assertEquals(0xcbf43926L, Partitioners.crc32(bytes("123456789")));
  }

  /** The vectors of Fowler, Noll and Vo. */
  @ParameterizedTest
  @CsvSource({"'', 811c9dc5", "a, e40c292c", "foobar, bf9cf968"})
  void fnv1aMatchesItsReference(String key, String hexadecimal) {
    assertEquals(Integer.parseUnsignedInt(hexadecimal, 16), Partitioners.fnv1a(bytes(key)));
  }

  @Test
  void murmur2FitsWhereTheJavaProducerPutsKeys() {
    Random random = new Random(1);
    for (int i = 0; i < 1_000; i++) {
      byte[] key = new byte[1 + random.nextInt(40)];
      random.nextBytes(key);
      int partitions = 1 + random.nextInt(50);
      int partition = BuiltInPartitioner.partitionForKey(key, partitions);
      assertEquals(MURMUR2, Partitioners.fits(key, partition, partitions) & MURMUR2);
    }
  }

  /** The partitions are those of librdkafka's partitioners murmur2, consistent and fnv1a. */
  @ParameterizedTest
  @CsvSource({
    "a, 0, 9, 16, 4, 3, 0",
    "100:48069, 13, 14, 8, 9, 6, 3",
    "foobar, 9, 6, 15, 6, 5, 0",
    "order-4711, 1, 13, 8, 7, 7, 7",
    "naïve ☃, 0, 12, 13, 10, 8, 8",
    "a-little-bit-longer-string, 12, 1, 9, 11, 2, 9",
    "key-19, 14, 15, 14, 6, 0, 11"
  })
  void fitsWhereLibrdkafkaPutsKeys(
      String key,
      int murmur2Of17,
      int crc32Of17,
      int fnv1aOf17,
      int murmur2,
      int crc32,
      int fnv1a) {
    assertFitsOnly(MURMUR2, key, murmur2Of17, 17);
    assertFitsOnly(CRC32, key, crc32Of17, 17);
    assertFitsOnly(FNV1A, key, fnv1aOf17, 17);
    assertFitsOnly(MURMUR2, key, murmur2, 12);
    assertFitsOnly(CRC32, key, crc32, 12);
    assertFitsOnly(FNV1A, key, fnv1a, 12);
  }

  private static void assertFitsOnly(int bit, String key, int expected, int partitions) {
    for (int partition = 0; partition < partitions; partition++) {
      int fits = Partitioners.fits(bytes(key), partition, partitions) & bit;
      assertEquals(partition == expected ? bit : 0, fits, key + " in " + partition);
    }
  }

  /** The hash of "foobar" is 0xbf9cf968, whose sign bit is set. */
  @Test
  void theVariantsOfFnv1aDifferInTheSign() {
    byte[] key = bytes("foobar");
    assertEquals(FNV1A, Partitioners.fits(key, 0x40630698 % 1009, 1009) & FNV1A);
    assertEquals(FNV1A_MASKED, Partitioners.fits(key, 0x3f9cf968 % 1009, 1009) & FNV1A_MASKED);
    int unsigned = (int) (0xbf9cf968L % 1009);
    assertEquals(FNV1A_UNSIGNED, Partitioners.fits(key, unsigned, 1009) & FNV1A_UNSIGNED);
  }

  @Test
  void anEmptyKeyIsAKey() {
    assertEquals(CRC32, Partitioners.fits(new byte[0], 0, 5) & CRC32);
    assertEquals(0, Partitioners.fits(new byte[0], 1, 5) & CRC32);
  }

  @Test
  void thereAreAsManyBitsAsNames() {
    assertEquals(5, Partitioners.NAMES.size());
    assertEquals(0b11111, Partitioners.fits(bytes("any"), 0, 1));
  }
}
