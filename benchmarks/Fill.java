import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Fills a topic with records as fast as Kafka's own producer can: SERVERS TOPIC FIRST NUMBER KEYS BYTES. The key of
 * record n is key-(n mod KEYS), and each value has this number of bytes.
 */
class Fill {
  public static void main(String[] arguments) {
    Properties settings = new Properties();
    settings.put("bootstrap.servers", arguments[0]);
    settings.put("acks", "1");
    settings.put("enable.idempotence", "false");
    settings.put("compression.type", "lz4");
    settings.put("linger.ms", "20");
    settings.put("batch.size", "262144");
    settings.put("buffer.memory", "134217728");
    long first = Long.parseLong(arguments[2]);
    long end = first + Long.parseLong(arguments[3]);
    long keys = Long.parseLong(arguments[4]);
    byte[] value = new byte[Integer.parseInt(arguments[5])];
    Arrays.fill(value, (byte) 'x');
    long[] failed = {0};
    ByteArraySerializer bytes = new ByteArraySerializer();
    try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings, bytes, bytes)) {
      for (long number = first; number < end; number++) {
        byte[] key = ("key-" + number % keys).getBytes(StandardCharsets.US_ASCII);
        producer.send(
            new ProducerRecord<>(arguments[1], key, value),
            (metadata, error) -> failed[0] += error == null ? 0 : 1);
      }
    }
    if (failed[0] > 0) {
      throw new IllegalStateException(failed[0] + " records were not written");
    }
  }
}
