package io.topicwarden.reader.codecs;

import io.topicwarden.reader.shaded.jackson.databind.JsonNode;
import io.topicwarden.reader.shaded.jackson.databind.ObjectMapper;
import io.topicwarden.reader.shaded.jackson.databind.node.ArrayNode;
import io.topicwarden.reader.shaded.jackson.databind.node.ObjectNode;
import io.topicwarden.reader.shaded.kafka.clients.consumer.ConsumerRecord;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;

/**
 * Validates values with the codecs of the shaded jar, without Spark or Kafka. Reads and writes one line of JSON per
 * request.
 *
 * <p>Request: {@code contract}, in the format of {@code records} in {@code audit/scan/contracts.py}; or {@code
 * schema} and {@code references} of a JSON Schema. {@code values} are in base64. Response: the faults of each value.
 */
public final class Judge {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private interface Validator {
    void validate(byte[] value, FaultCounts faults);
  }

  private Judge() {}

  public static void main(String[] arguments) throws Exception {
    PrintStream out = System.out;
    System.setOut(System.err); // libraries must not print between the responses
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.write((answer(MAPPER.readTree(line)) + "\n").getBytes(StandardCharsets.UTF_8));
      out.flush();
    }
  }

  private static String answer(JsonNode request) throws Exception {
    ObjectNode answer = MAPPER.createObjectNode();
    Validator validator;
    try {
      validator = request.has("references") ? schema(request) : contract(request.path("contract"));
    } catch (RuntimeException error) {
      return answer.put("error", RecordFault.describe(error)).toString();
    }
    ArrayNode verdicts = answer.putArray("faults");
    for (JsonNode value : request.path("values")) {
      FaultCounts faults = new FaultCounts();
      validator.validate(Base64.getDecoder().decode(value.asText()), faults);
      faults.writeTo(verdicts.addArray());
    }
    return answer.toString();
  }

  private static Validator contract(JsonNode declared) {
    RecordContract contract = new RecordContract(declared, null, null);
    return (value, faults) -> contract.validate(new ConsumerRecord<>("topic", 0, 0, null, value), faults, new SchemaIds(1));
  }

  private static Validator schema(JsonNode request) {
    Map<String, String> references = new HashMap<>();
    request.path("references").properties().forEach(one -> references.put(one.getKey(), one.getValue().asText()));
    JsonCodec codec = JsonCodec.declared(request.path("schema").asText(), references, null);
    return (value, faults) -> {
      try {
        codec.check(value);
      } catch (RecordFault fault) {
        faults.add("value-schema", fault, 0);
      }
    };
  }
}
