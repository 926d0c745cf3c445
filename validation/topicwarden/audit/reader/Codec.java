package topicwarden;

/** What the bytes of a key or a value are declared to be. Used by one thread. */
interface Codec {
  /** Decodes {@code data}, which is not null; throws where it is not what was declared. */
  Object read(byte[] data) throws Malformed;

  /** Throws where {@code data} is not what was declared, as {@link #read} does; what it says is not wanted. */
  default void check(byte[] data) throws Malformed {
    read(data);
  }

  /** What {@link #read} gave, as CEL takes it: null, Boolean, Long, Double, String, byte[], List or Map. */
  default Object plain(Object read) throws Malformed {
    return read;
  }
}
