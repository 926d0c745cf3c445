import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;

/** Many Kafka Streams applications in one process. Each application reads one topic in a streams group (KIP-1071). */
public final class StreamsHost {
  /** Arguments: bootstrap servers, state directory. Input: "start APPLICATION TOPIC" or "stop APPLICATION". */
  public static void main(String[] arguments) throws Exception {
    Map<String, KafkaStreams> running = new HashMap<>();
    BufferedReader lines =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      String[] words = line.split(" ");
      if (words[0].equals("start")) {
        running.put(words[1], started(arguments[0], arguments[1], words[1], words[2]));
      } else {
        running.remove(words[1]).close(closing());
      }
      System.out.println("done " + line);
      System.out.flush();
    }
    running.values().forEach(each -> each.close(Duration.ofSeconds(5)));
  }

  private static KafkaStreams.CloseOptions closing() {
    return new KafkaStreams.CloseOptions().leaveGroup(true).timeout(Duration.ofSeconds(10));
  }

  private static KafkaStreams started(
      String servers, String state, String application, String topic)
      throws InterruptedException {
    Properties settings = new Properties();
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, servers);
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, application);
    settings.put(StreamsConfig.STATE_DIR_CONFIG, state);
    settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.ByteArraySerde.class);
    settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.ByteArraySerde.class);
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 200);
    settings.put("auto.offset.reset", "earliest");
    settings.put("group.protocol", "streams");
    StreamsBuilder builder = new StreamsBuilder();
    builder.stream(topic).foreach((key, value) -> {});
    KafkaStreams streams = new KafkaStreams(builder.build(), settings);
    streams.start();
    long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
    while (streams.state() != KafkaStreams.State.RUNNING) {
      if (System.nanoTime() > deadline) {
        throw new IllegalStateException(application + " is " + streams.state());
      }
      Thread.sleep(50);
    }
    return streams;
  }
}
