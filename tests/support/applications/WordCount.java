import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.KGroupedStream;
import org.apache.kafka.streams.kstream.KStream;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.TimeWindows;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.WindowStore;

/** A Kafka Streams application with one internal topic of each kind: repartition, changelog, windowed changelog. */
public final class WordCount {
  /**
   * Arguments: bootstrap servers, application id, topic with words, state directory, group protocol, and perhaps a file
   * with more settings.
   */
  public static void main(String[] arguments) throws InterruptedException, IOException {
    Properties settings = new Properties();
    if (arguments.length > 5) {
      try (Reader more = Files.newBufferedReader(Path.of(arguments[5]))) {
        settings.load(more);
      }
    }
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
    settings.put(StreamsConfig.STATE_DIR_CONFIG, arguments[3]);
    settings.put(StreamsConfig.DEFAULT_KEY_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    settings.put(StreamsConfig.DEFAULT_VALUE_SERDE_CLASS_CONFIG, Serdes.StringSerde.class);
    settings.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, 200);
    settings.put(StreamsConfig.REPARTITION_PURGE_INTERVAL_MS_CONFIG, 200);
    settings.put("auto.offset.reset", "earliest");
    settings.put("group.protocol", arguments[4]);

    StreamsBuilder builder = new StreamsBuilder();
    KStream<String, String> words = builder.stream(arguments[2]);
    KGroupedStream<String, String> alike = words.groupBy((key, word) -> word, Grouped.as("words"));
    alike.count(Materialized.<String, Long, KeyValueStore<Bytes, byte[]>>as("counts"));
    alike
        .windowedBy(TimeWindows.ofSizeWithNoGrace(Duration.ofMinutes(5)))
        .count(Materialized.<String, Long, WindowStore<Bytes, byte[]>>as("recent"));
    KafkaStreams streams = new KafkaStreams(builder.build(), settings);
    CountDownLatch ended = new CountDownLatch(1);
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  streams.close(Duration.ofSeconds(10));
                  ended.countDown();
                }));
    streams.start();
    ended.await();
  }
}
