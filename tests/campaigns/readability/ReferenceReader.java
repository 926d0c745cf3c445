import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Base64;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.DecoderFactory;

/**
 * Reads Avro values as a consumer does, with the Avro library of Spark. Reads and writes one line of JSON per request:
 * {@code writer}, {@code reader} and {@code values} (base64); the answer has {@code writes} and {@code reads}, true for
 * each value that can be read by the writer's schema, and with that of the reader; null if it needs too much memory.
 */
public final class ReferenceReader {
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private ReferenceReader() {}

  public static void main(String[] arguments) throws Exception {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, "UTF-8"));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      JsonNode request = MAPPER.readTree(line);
      ObjectNode answer = MAPPER.createObjectNode();
      try {
        Schema writer = new Schema.Parser().parse(request.get("writer").asText());
        Schema reader = new Schema.Parser().parse(request.get("reader").asText());
        ArrayNode writes = answer.putArray("writes");
        ArrayNode reads = answer.putArray("reads");
        for (JsonNode value : request.get("values")) {
          byte[] data = Base64.getDecoder().decode(value.asText());
          writes.add(reads(writer, writer, data));
          reads.add(reads(writer, reader, data));
        }
      } catch (RuntimeException error) {
        answer.removeAll();
        answer.put("error", String.valueOf(error));
      }
      System.out.println(answer);
    }
  }

  private static Boolean reads(Schema writer, Schema reader, byte[] data) {
    try {
      new GenericDatumReader<>(writer, reader).read(null, DecoderFactory.get().binaryDecoder(data, null));
      return true;
    } catch (OutOfMemoryError | StackOverflowError error) {
      return null;
    } catch (Exception error) {
      return false;
    }
  }
}
