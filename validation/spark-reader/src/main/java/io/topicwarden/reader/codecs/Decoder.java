package io.topicwarden.reader.codecs;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.topicwarden.reader.Json;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** Decodes keys or values by their declared format, for {@code io.topicwarden.reader.fields}. */
public final class Decoder {
  private final Codec codec;

  private Decoder(Codec codec) {
    this.codec = codec;
  }

  /**
   * Returns a decoder. If the schema cannot be used, it throws an undecidable fault for all data.
   *
   * @param declared the encoding that {@code audit/scan/contracts.py} writes
   * @param registry the option {@code registry}, or null
   */
  public static Decoder of(JsonNode declared, String registry) {
    return of(declared, registry, null);
  }

  /** Returns a decoder that parses no JSON again that {@code last} has parsed; it may be null. */
  public static Decoder of(JsonNode declared, String registry, LastJson last) {
    try {
      SchemaRegistryClient client =
          registry == null ? null : new SchemaRegistryClient(Json.MAPPER.readTree(registry));
      return new Decoder(RecordContract.codec(declared, client, last));
    } catch (JsonProcessingException error) {
      throw new IllegalArgumentException("the registry is not JSON", error);
    }
  }

  /** Returns what {@link #decode} returns for the key of a record. */
  public Object decodeKey(ConsumerRecord<byte[], byte[]> record) throws RecordFault {
    SchemaIdHeader.refuse(codec, record.headers(), true);
    return decode(record.key());
  }

  /** Returns what {@link #decode} returns for the value of a record. */
  public Object decodeValue(ConsumerRecord<byte[], byte[]> record) throws RecordFault {
    SchemaIdHeader.refuse(codec, record.headers(), false);
    return decode(record.value());
  }

  /**
   * Returns a {@code JsonNode}, Avro's generic value, a message of Protocol Buffers, or what
   * Kafka's own deserializers return.
   *
   * @throws RecordFault if the data is not in the format, or cannot be decoded
   */
  public Object decode(byte[] data) throws RecordFault {
    Object decoded = RecordContract.guarded(() -> codec.decode(data));
    return decoded instanceof ConfluentCodec.DecodedValue value ? value.single() : decoded;
  }
}
