package topicwarden;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * Judges values with the reader's own classes, without Spark or Kafka: a line of JSON in, a line out.
 *
 * <p>In: {@code contract}, as {@code audit/contents/contracts.py} writes {@code records}, or {@code schema} and {@code references}
 * of a JSON Schema; {@code values}, in base 64. Out: for each value the faults that were noted.
 */
public final class Judge {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private interface Judging {
    void judge(byte[] value, Notes notes);
  }

  private Judge() {}

  public static void main(String[] arguments) throws Exception {
    PrintStream out = System.out;
    System.setOut(System.err); // whatever a library prints is no answer
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.write((answer(MAPPER.readTree(line)) + "\n").getBytes(StandardCharsets.UTF_8));
      out.flush();
    }
  }

  private static String answer(JsonNode request) throws Exception {
    ObjectNode answer = MAPPER.createObjectNode();
    Judging judging;
    try {
      judging = request.has("references") ? schema(request) : contract(request.path("contract"));
    } catch (RuntimeException error) {
      return answer.put("error", Malformed.cause(error)).toString();
    }
    ArrayNode verdicts = answer.putArray("faults");
    for (JsonNode value : request.path("values")) {
      Notes notes = new Notes(0, Long.MAX_VALUE);
      judging.judge(Base64.getDecoder().decode(value.asText()), notes);
      verdicts.add(MAPPER.readTree(notes.told(NONE)).path("faults"));
    }
    return answer.toString();
  }

  private static final OffsetRange NONE = new OffsetRange(0, null, 0, 0);

  private static Judging contract(JsonNode declared) {
    Contract contract = new Contract(declared, null);
    return (value, notes) -> contract.judge(new ConsumerRecord<>("topic", 0, 0, null, value), notes);
  }

  private static Judging schema(JsonNode request) {
    Map<String, String> references = new HashMap<>();
    request.path("references").properties().forEach(one -> references.put(one.getKey(), one.getValue().asText()));
    JsonCodec codec = JsonCodec.of(request.path("schema").asText(), references);
    return (value, notes) -> {
      try {
        codec.check(value);
      } catch (Malformed why) {
        notes.fault("value-schema", why, 0);
      }
    };
  }
}
