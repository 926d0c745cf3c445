import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Writes the keys {@code key-0}, {@code key-1}, ... to two topics with Kafka's own producer: servers, topic, second
 * topic, number of keys, and the number of the key before which it waits for a line when it writes the second topic.
 */
public final class JavaProducer {
  public static void main(String[] arguments) throws java.io.IOException {
    Properties settings = new Properties();
    settings.putAll(Map.of("bootstrap.servers", arguments[0], "acks", "all"));
    int keys = Integer.parseInt(arguments[3]);
    try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
      for (int number = 0; number < keys; number++) {
        producer.send(new ProducerRecord<>(arguments[1], "key-" + number, "x"));
      }
      for (int number = 0; number < keys; number++) {
        if (number == Integer.parseInt(arguments[4])) {
          producer.flush();
          System.out.println("waiting");
          System.in.read();
        }
        producer.send(new ProducerRecord<>(arguments[2], "key-" + number, "x"));
      }
    }
  }
}
