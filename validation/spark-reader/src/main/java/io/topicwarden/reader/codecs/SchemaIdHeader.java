package io.topicwarden.reader.codecs;

import org.apache.kafka.common.header.Headers;

/**
 * The headers by which Confluent's serializers name the schema of a key or a value in place of the
 * wire format ({@code HeaderSchemaIdSerializer}). A consumer looks there first. The data has no
 * prefix then, and whether it is right is undecidable: the audit does not read these headers.
 */
final class SchemaIdHeader {
  private static final String OF_KEY = "__key_schema_id";
  private static final String OF_VALUE = "__value_schema_id";

  private SchemaIdHeader() {}

  /** Returns whether the headers of a record name the schema of its key, or of its value. */
  static boolean isIn(Headers headers, boolean ofKey) {
    return headers.lastHeader(ofKey ? OF_KEY : OF_VALUE) != null;
  }

  /** Throws if {@code codec} reads the wire format, and a header names the schema instead. */
  static void refuse(Codec codec, Headers headers, boolean ofKey) throws RecordFault {
    if (codec instanceof ConfluentCodec) {
      refuse(headers, ofKey);
    }
  }

  /** Throws if a header names the schema. */
  static void refuse(Headers headers, boolean ofKey) throws RecordFault {
    if (isIn(headers, ofKey)) {
      throw RecordFault.undecidable(
          "its schema is named in the header "
              + (ofKey ? OF_KEY : OF_VALUE)
              + ", which the audit does not read");
    }
  }
}
