package io.topicwarden.reader.inference;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.topicwarden.reader.Json;
import io.topicwarden.reader.codecs.Decoder;
import io.topicwarden.reader.codecs.RecordFault;
import io.topicwarden.reader.codecs.Utf8;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/**
 * Which formats the keys, or the values, of a topic have: for each format, the records that do not
 * have it.
 */
final class EncodedSummary {
  static final int MAX_SCHEMA_IDS = 50;

  private static final Decoder JSON =
      Decoder.of(Json.MAPPER.createObjectNode().put("format", "json"), null);
  private static final int WIRE_FORMAT_BYTES = 5;

  private final Tally nulls = new Tally();
  private final Tallies notInFormat = new Tallies();
  private final Tally unreadable = new Tally(); // JSON beyond the limits of the reader
  private final JsonShape shape;
  private final Variants variants;
  private Tallies schemaIds = new Tallies();

  EncodedSummary(Settings settings) {
    this(new JsonShape(settings), new Variants(settings));
  }

  private EncodedSummary(JsonShape shape, Variants variants) {
    this.shape = shape;
    this.variants = variants;
  }

  void add(byte[] data, int partition, long offset) {
    if (data == null) {
      nulls.add(partition, offset);
      return;
    }
    boolean isJson = mayBeJson(data) && addJson(data, partition, offset);
    addUnless(isJson, "json", partition, offset);
    boolean isUtf8 = isJson || Utf8.isValid(data, 0);
    addUnless(isUtf8, "string", partition, offset);
    addUnless(isUtf8 && isPrintable(data), "text", partition, offset);
    addUnless(isUtf8 && isUuid(data), "uuid", partition, offset);
    addUnless(data.length == Integer.BYTES, "int", partition, offset);
    addUnless(data.length == Long.BYTES, "long", partition, offset);
    boolean hasId = data.length >= WIRE_FORMAT_BYTES && data[0] == 0;
    addUnless(hasId, "registry", partition, offset);
    if (hasId && schemaIds != null) {
      schemaIds.of(Integer.toString(ByteBuffer.wrap(data).getInt(1))).add(partition, offset);
      limitIds();
    }
  }

  /**
   * Returns false if the first and the last byte show that the data is not JSON, as those of most
   * keys do: a parser would need two exceptions to say so.
   */
  private static boolean mayBeJson(byte[] data) {
    int first = 0;
    int last = data.length - 1;
    while (first < last && isSpace(data[first])) {
      first++;
    }
    while (last > first && isSpace(data[last])) {
      last--;
    }
    if (last < first) {
      return false;
    }
    return switch (data[first]) {
      case '{' -> data[last] == '}';
      case '[' -> data[last] == ']';
      case '"' -> data[last] == '"';
      case 't', 'f' -> data[last] == 'e';
      case 'n' -> data[last] == 'l';
      default -> isNumber(data, first, last);
    };
  }

  private static boolean isSpace(byte each) {
    return each == ' ' || each == '\t' || each == '\n' || each == '\r';
  }

  private static boolean isNumber(byte[] data, int first, int last) {
    for (int i = first; i <= last; i++) {
      if ("+-.0123456789Ee".indexOf(data[i]) < 0) {
        return false;
      }
    }
    return true;
  }

  private boolean addJson(byte[] data, int partition, long offset) {
    try {
      JsonNode value = (JsonNode) JSON.decode(data);
      shape.add(value, partition, offset);
      variants.add(value);
      return true;
    } catch (RecordFault fault) {
      if (fault.isUndecidable()) {
        unreadable.add(partition, offset);
      }
      return fault.isUndecidable();
    }
  }

  private void addUnless(boolean inFormat, String format, int partition, long offset) {
    if (!inFormat) {
      notInFormat.of(format).add(partition, offset);
    }
  }

  private static boolean isPrintable(byte[] text) {
    for (byte each : text) {
      if (each >= 0 && each < ' ' && each != '\t' && each != '\n' && each != '\r') {
        return false;
      }
    }
    return true;
  }

  private static boolean isUuid(byte[] text) {
    return text.length == 36
        && StringFormat.UUID.matches(new String(text, StandardCharsets.US_ASCII));
  }

  private void limitIds() {
    if (schemaIds != null && schemaIds.size() > MAX_SCHEMA_IDS) {
      schemaIds = null;
    }
  }

  void merge(EncodedSummary other) {
    nulls.add(other.nulls);
    notInFormat.add(other.notInFormat, null);
    unreadable.add(other.unreadable);
    shape.merge(other.shape);
    variants.merge(other.variants);
    if (other.schemaIds == null) {
      schemaIds = null;
    } else if (schemaIds != null) {
      schemaIds.add(other.schemaIds, null);
      limitIds();
    }
  }

  void finish() {
    shape.finish();
    variants.finish();
  }

  ObjectNode toJson() {
    ObjectNode json = Json.MAPPER.createObjectNode();
    nulls.writeTo(json, "null");
    notInFormat.writeTo(json, "not_in_format");
    unreadable.writeTo(json, "unreadable");
    if (schemaIds == null) {
      json.putNull("schema_ids");
    } else {
      schemaIds.writeTo(json, "schema_ids");
    }
    json.set("json", shape.toJson());
    variants.writeTo(json, "variants");
    return json;
  }

  static EncodedSummary from(JsonNode json, Settings settings) {
    EncodedSummary summary =
        new EncodedSummary(
            JsonShape.from(json.path("json"), settings),
            Variants.from(json.path("variants"), settings));
    summary.nulls.add(Tally.from(json.path("null")));
    summary.notInFormat.add(Tallies.from(json.path("not_in_format")), null);
    summary.unreadable.add(Tally.from(json.path("unreadable")));
    summary.schemaIds =
        json.path("schema_ids").isNull() ? null : Tallies.from(json.path("schema_ids"));
    return summary;
  }
}
