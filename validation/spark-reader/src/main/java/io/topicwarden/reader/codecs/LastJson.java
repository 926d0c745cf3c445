package io.topicwarden.reader.codecs;

import com.fasterxml.jackson.databind.JsonNode;

/**
 * Keeps the JSON that was parsed last, so that the contract of a record and the rules that compare
 * the record parse it once. Used by one thread.
 */
public final class LastJson {
  private byte[] data;
  private int from;
  private JsonNode tree;

  /** Returns the same as {@link JsonText#parse}. */
  JsonNode parse(byte[] data, int from) throws RecordFault {
    if (data != this.data || from != this.from) {
      tree = JsonText.parse(data, from);
      this.data = data;
      this.from = from;
    }
    return tree;
  }
}
