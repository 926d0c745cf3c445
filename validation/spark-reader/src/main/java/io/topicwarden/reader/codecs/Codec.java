package io.topicwarden.reader.codecs;

import com.google.protobuf.Descriptors.FileDescriptor;

/** A declared encoding of keys or values. Used by one thread. */
interface Codec {
  /** Decodes {@code data}, which is not null; throws if the data breaks the declaration. */
  Object decode(byte[] data) throws RecordFault;

  /** Throws if {@code data} breaks the declaration, as {@link #decode} does. */
  default void check(byte[] data) throws RecordFault {
    decode(data);
  }

  /**
   * Converts a value that {@link #decode} returned for CEL: null, Boolean, Long, Double, String,
   * byte[], List or Map, or a message of Protocol Buffers.
   */
  default Object toCel(Object decoded) throws RecordFault {
    return decoded;
  }

  /** Returns the schema whose message types an expression may find in a {@code Any}, or null. */
  default FileDescriptor messageTypes() {
    return null;
  }
}
