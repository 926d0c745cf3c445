package io.topicwarden.reader.fields;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.BigIntegerNode;
import com.fasterxml.jackson.databind.node.DecimalNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.topicwarden.reader.Json;
import io.topicwarden.reader.fields.FieldPath.Found;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.junit.jupiter.api.Test;

/** Canonical values: equal values have equal bytes, and the order of numbers is that of bytes. */
class CanonicalValueTest {
  private static final Schema MILLIS =
      LogicalTypes.timestampMillis().addToSchema(Schema.create(Schema.Type.LONG));
  private static final Schema DURATION = Schema.createFixed("Duration", null, null, 12);

  private static byte[] number(BigDecimal value) throws Unjudged {
    return CanonicalValue.of(DecimalNode.valueOf(value));
  }

  @Test
  void drawnNumbersHaveTheOrderOfTheirBytes() throws Unjudged {
    Random random = new Random(44);
    for (int round = 0; round < 20_000; round++) {
      BigDecimal left = draw(random);
      BigDecimal right = draw(random);
      int expected = Integer.signum(left.compareTo(right));
      int bytes = Integer.signum(Arrays.compareUnsigned(number(left), number(right)));
      assertEquals(expected, bytes, left + " and " + right);
    }
  }

  private static BigDecimal draw(Random random) {
    BigInteger digits = new BigInteger(1 + random.nextInt(90), random);
    if (random.nextBoolean()) {
      digits = BigInteger.valueOf(random.nextInt(25));
    }
    return new BigDecimal(random.nextBoolean() ? digits : digits.negate(), random.nextInt(7) - 3);
  }

  @Test
  void numbersAreEqualInEachRepresentation() throws Unjudged {
    assertArrayEquals(CanonicalValue.of(1L), CanonicalValue.of(new BigDecimal("1.0")));
    assertArrayEquals(CanonicalValue.of(1), CanonicalValue.of(1.0f));
    BigInteger large = BigInteger.ONE.shiftLeft(53);
    byte[] next = CanonicalValue.of(BigIntegerNode.valueOf(large.add(BigInteger.ONE)));
    assertFalse(Arrays.equals(CanonicalValue.of(large.longValue()), next));
    assertFalse(Arrays.equals(CanonicalValue.of(1L), CanonicalValue.of("1")));
  }

  @Test
  void integersHaveTheBytesOfTheirDecimals() throws Unjudged {
    Random random = new Random(45);
    for (int round = 0; round < 20_000; round++) {
      long value = random.nextLong() >> random.nextInt(64);
      value *= random.nextBoolean() ? 1 : 1_000;
      assertArrayEquals(number(BigDecimal.valueOf(value)), CanonicalValue.of(value), value + "");
      int small = random.nextInt() >> random.nextInt(32);
      assertArrayEquals(number(BigDecimal.valueOf(small)), CanonicalValue.of(small));
    }
    for (long value : new long[] {0, Long.MIN_VALUE, Long.MAX_VALUE, -Long.MAX_VALUE, -10, 10}) {
      assertArrayEquals(number(BigDecimal.valueOf(value)), CanonicalValue.of(value));
    }
  }

  @Test
  void textIsUtf8WithItsKind() throws Unjudged {
    for (String text : List.of("", "a", "a\u007f", "\u0080", "aé☃", "\ud83d\ude00")) {
      byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
      byte[] expected = new byte[utf8.length + 1];
      expected[0] = CanonicalValue.TEXT;
      System.arraycopy(utf8, 0, expected, 1, utf8.length);
      assertArrayEquals(expected, CanonicalValue.of(text));
    }
  }

  @Test
  void valuesWithoutACanonicalFormAreNotJudged() throws Exception {
    JsonNode document = Json.MAPPER.readTree("{\"a\": {\"b\": [7, null]}}");
    assertArrayEquals(
        CanonicalValue.of(7L),
        CanonicalValue.of(new FieldPath(List.of("a", "b", "0")).find(document)));
    for (List<String> path :
        List.of(List.of("a"), List.of("a", "b", "1"), List.of("a", "b", "2"), List.of("c", "d"))) {
      Found found = new FieldPath(path).find(document);
      assertThrows(Unjudged.class, () -> CanonicalValue.of(found));
    }
    assertThrows(Unjudged.class, () -> CanonicalValue.of(Double.NaN));
    assertThrows(Unjudged.class, () -> CanonicalValue.of(TextNode.valueOf("\ud800")));
  }

  @Test
  void avroTimesOfAnotherUnitAreEqualAndNoNumbers() throws Unjudged {
    byte[] millis = CanonicalValue.of(new Found(1_000L, MILLIS));
    Schema micros = LogicalTypes.timestampMicros().addToSchema(Schema.create(Schema.Type.LONG));
    assertArrayEquals(millis, CanonicalValue.of(new Found(1_000_000L, micros)));
    assertFalse(Arrays.equals(millis, CanonicalValue.of(1L)));
  }

  @Test
  void bytesOfALogicalTypeHaveAnOrderOnlyIfTheyAreDecimals() throws Unjudged {
    Schema decimal = LogicalTypes.decimal(4, 2).addToSchema(Schema.create(Schema.Type.BYTES));
    byte[] found = CanonicalValue.of(new Found(ByteBuffer.wrap(new byte[] {-1, 106}), decimal));
    assertArrayEquals(number(new BigDecimal("-1.5")), found);
    for (Found other :
        List.of(
            new Found(ByteBuffer.allocate(0), decimal),
            new Found(
                ByteBuffer.allocate(2),
                LogicalTypes.bigDecimal().addToSchema(Schema.create(Schema.Type.BYTES))),
            new Found(
                new GenericData.Fixed(DURATION, new byte[12]), // little-endian
                LogicalTypes.duration().addToSchema(DURATION)))) {
      assertThrows(Unjudged.class, () -> CanonicalValue.of(other));
    }
  }
}
