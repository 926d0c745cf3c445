import io.topicwarden.reader.shaded.avro.Schema;
import io.topicwarden.reader.shaded.avro.generic.GenericDatumReader;
import io.topicwarden.reader.shaded.avro.io.DecoderFactory;
import io.topicwarden.reader.shaded.google.protobuf.CodedInputStream;
import io.topicwarden.reader.shaded.google.protobuf.DescriptorProtos.FileDescriptorSet;
import io.topicwarden.reader.shaded.google.protobuf.Descriptors.Descriptor;
import io.topicwarden.reader.shaded.google.protobuf.Descriptors.FileDescriptor;
import io.topicwarden.reader.shaded.google.protobuf.DynamicMessage;
import io.topicwarden.reader.shaded.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.serialization.Deserializer;

/**
 * Reads a topic with one Kafka consumer for each core, which fetches, decompresses and iterates the records.
 *
 * <p>Arguments: bootstrap servers, topic, the format of values, and their schema. {@code json}, {@code avro} and {@code
 * protobuf} are parsed with the libraries in the jar of the Spark reader; nothing looks at the bytes of others. The schema
 * is an Avro schema, or a set of descriptors whose first message is the value. Each line of standard input starts a pass;
 * the answer is the number of records and the seconds. The process ends with its input.
 */
public final class WireFloor {
  private interface Parser {
    Object parse(byte[] bytes, int from, int length) throws IOException;

    static Parser of(String format, String schema) throws Exception {
      switch (format) {
        case "json":
          ObjectMapper json = new ObjectMapper();
          return (bytes, from, length) -> json.readTree(bytes, from, length);
        case "avro":
          GenericDatumReader<Object> avro = new GenericDatumReader<>(new Schema.Parser().parse(new File(schema)));
          DecoderFactory decoders = DecoderFactory.get();
          return (bytes, from, length) -> avro.read(null, decoders.binaryDecoder(bytes, from, length, null));
        case "protobuf":
          FileDescriptorSet files = FileDescriptorSet.parseFrom(Files.readAllBytes(Path.of(schema)));
          Descriptor message =
              FileDescriptor.buildFrom(files.getFile(0), new FileDescriptor[0]).getMessageTypes().get(0);
          return (bytes, from, length) ->
              DynamicMessage.parseFrom(message, CodedInputStream.newInstance(bytes, from, length));
        default:
          return null;
      }
    }
  }

  private record Reader(String servers, String topic, Parser parser) implements Deserializer<Object> {
    @Override
    public Object deserialize(String topic, byte[] data) {
      throw new UnsupportedOperationException("Kafka's consumer passes buffers");
    }

    @Override
    public Object deserialize(String topic, Headers headers, ByteBuffer data) {
      if (parser == null || data == null) {
        return null;
      }
      try {
        return parser.parse(data.array(), data.arrayOffset() + data.position(), data.remaining());
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }

    /** Reads the partitions of one of the threads; returns the number of records. */
    long read(int thread, int threads) {
      Map<String, Object> settings = new HashMap<>();
      settings.put("bootstrap.servers", servers);
      settings.put("enable.auto.commit", "false");
      settings.put("max.poll.records", "1000");
      settings.put("max.partition.fetch.bytes", String.valueOf(2 << 20));
      settings.put("fetch.max.bytes", String.valueOf(16 << 20));
      settings.put("receive.buffer.bytes", String.valueOf(1 << 20));
      Reader keys = new Reader(servers, topic, null);
      try (Consumer<Object, Object> consumer = new KafkaConsumer<>(settings, keys, this)) {
        List<TopicPartition> own = new ArrayList<>();
        consumer.partitionsFor(topic).stream()
            .filter(each -> each.partition() % threads == thread)
            .forEach(each -> own.add(new TopicPartition(topic, each.partition())));
        consumer.assign(own);
        consumer.seekToBeginning(own);
        Map<TopicPartition, Long> ends = consumer.endOffsets(own);
        Set<TopicPartition> unread = new HashSet<>(own);
        long records = 0;
        while (!unread.isEmpty()) {
          for (ConsumerRecord<Object, Object> ignored : consumer.poll(Duration.ofMillis(200))) {
            records++;
          }
          unread.removeIf(each -> consumer.position(each) >= ends.get(each));
        }
        return records;
      }
    }
  }

  private WireFloor() {}

  public static void main(String[] arguments) throws Exception {
    String schema = arguments.length > 3 ? arguments[3] : null;
    int threads = Runtime.getRuntime().availableProcessors();
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    while (input.readLine() != null) {
      ExecutorService pool = Executors.newFixedThreadPool(threads);
      long began = System.nanoTime();
      List<Future<Long>> parts = new ArrayList<>();
      for (int thread = 0; thread < threads; thread++) {
        int own = thread;
        Reader reader = new Reader(arguments[0], arguments[1], Parser.of(arguments[2], schema));
        parts.add(pool.submit(() -> reader.read(own, threads)));
      }
      long records = 0;
      for (Future<Long> part : parts) {
        records += part.get();
      }
      System.out.println(records + " " + (System.nanoTime() - began) / 1e9);
      pool.shutdown();
    }
  }
}
