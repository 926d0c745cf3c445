package io.topicwarden.reader.fields;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.fasterxml.jackson.databind.node.DecimalNode;
import com.fasterxml.jackson.databind.node.LongNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.topicwarden.reader.fields.FieldPath.Found;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Locale;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.util.Utf8;
import org.junit.jupiter.api.Test;

/** References have the bytes of the keys that they name, in whatever formats both are. */
class KeyReferenceTest {
  private static byte[] reference(Object value, String keys) throws Unjudged {
    return KeyReference.of(new Found(value, null), keys);
  }

  private static void assertEqual(Object value, Object key, String keys) throws Unjudged {
    assertArrayEquals(reference(key, keys), reference(value, keys), value + " and " + key);
  }

  private static void assertDifferent(Object value, Object key, String keys) throws Unjudged {
    assertFalse(Arrays.equals(reference(key, keys), reference(value, keys)), value + " and " + key);
  }

  @Test
  void integersAreTheirText() throws Unjudged {
    assertEqual(TextNode.valueOf("42"), 42L, "long");
    assertEqual(TextNode.valueOf("+042"), 42L, "int");
    assertEqual(TextNode.valueOf("-0"), 0L, "long");
    assertEqual(LongNode.valueOf(42), "42", "string");
    assertEqual(DecimalNode.valueOf(new BigDecimal("4.2E1")), "42", "string");
    assertEqual(42.0, 42L, "long");
    assertEqual(new Utf8("42"), LongNode.valueOf(42), "json");
  }

  @Test
  void textIsOnlyANumberIfKeysAre() throws Unjudged {
    assertDifferent(TextNode.valueOf("042"), "42", "string");
    assertDifferent(TextNode.valueOf("42 "), 42L, "long");
    assertDifferent(TextNode.valueOf("9".repeat(100_000)), 42L, "long");
  }

  @Test
  void uuidsAreEqualInEachCase() throws Unjudged {
    String id = "123e4567-e89b-12d3-a456-426614174000";
    assertEqual(TextNode.valueOf(id.toUpperCase(Locale.ROOT)), id, "uuid");
    assertDifferent(TextNode.valueOf(id.toUpperCase(Locale.ROOT)), id, "string");
    assertDifferent(TextNode.valueOf("none"), id, "uuid");
  }

  @Test
  void whatNoKeyCanBeIsNotJudged() {
    for (Object value : new Object[] {true, 1.5, ByteBuffer.allocate(2), NullNode.instance, null}) {
      assertThrows(Unjudged.class, () -> reference(value, "string"));
    }
    BigDecimal huge = new BigDecimal("1E999999999"); // whose digits do not fit into memory
    assertThrows(Unjudged.class, () -> reference(DecimalNode.valueOf(huge), "long"));
    Found time =
        new Found(42L, LogicalTypes.timestampMillis().addToSchema(Schema.create(Schema.Type.LONG)));
    assertThrows(Unjudged.class, () -> KeyReference.of(time, "long"));
  }
}
