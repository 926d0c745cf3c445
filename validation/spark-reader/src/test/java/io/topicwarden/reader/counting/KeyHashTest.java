package io.topicwarden.reader.counting;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class KeyHashTest {
  /** Values of the reference algorithm with the seed 42. */
  @ParameterizedTest
  @CsvSource({
    "'', -7444071767201028348",
    "Spark, -4294468057691064905",
    "key-1, 3953485860046200431",
    "a key that is longer than thirty-two bytes, 8538784315876373663"
  })
  void isXxHash64WithTheSeedOfSparkSql(String key, long hash) {
    assertEquals(hash, KeyHash.of(Records.bytes(key)));
  }
}
