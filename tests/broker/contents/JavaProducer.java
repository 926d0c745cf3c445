import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Writes the keys {@code key-0}, {@code key-1}, ... with Kafka's own producer: servers, topic, number of keys, and
 * optionally the number of a key before which it waits for a line.
 */
public final class JavaProducer {
  public static void main(String[] arguments) throws java.io.IOException {
    Properties settings = new Properties();
    settings.putAll(Map.of("bootstrap.servers", arguments[0], "acks", "all"));
    try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
      for (int number = 0; number < Integer.parseInt(arguments[2]); number++) {
        if (arguments.length > 3 && number == Integer.parseInt(arguments[3])) {
          producer.flush();
          System.out.println("waiting");
          System.in.read();
        }
        producer.send(new ProducerRecord<>(arguments[1], "key-" + number, "x"));
      }
    }
  }
}
