package topicwarden;

/** What the bytes of a key or a value are declared to be. Used by one thread. */
interface Codec {
  /** Decodes {@code data}, which is not null; throws where it is not what was declared. */
  Object read(byte[] data) throws Malformed;

  /** What {@link #read} gave, as CEL takes it: null, Boolean, Long, Double, String, byte[], List or Map. */
  default Object plain(Object read) {
    return read;
  }
}
