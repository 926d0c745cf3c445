package io.topicwarden.reader.source;

import io.topicwarden.reader.shaded.kafka.clients.consumer.KafkaConsumer;
import java.util.HashMap;
import java.util.Map;

/** Creates a consumer with the options {@code name=value}, which loads its login module. Needs no broker. */
public final class Login {
  private Login() {}

  public static void main(String[] arguments) {
    Map<String, String> options = new HashMap<>();
    for (String argument : arguments) {
      String[] pair = argument.split("=", 2);
      options.put(pair[0], pair[1]);
    }
    new KafkaConsumer<byte[], byte[]>(ConsumerSettings.from(options)).close();
    System.out.println("created");
  }
}
