import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.Map;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.JaasContext;

/** Prints what Kafka's own clients read from each sasl.jaas.config, a line of Base64 each. */
public class ReadJaas {
    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Password config = new Password(new String(Base64.getDecoder().decode(line), StandardCharsets.UTF_8));
            Map<String, ?> options = JaasContext.loadClientContext(Map.of(SaslConfigs.SASL_JAAS_CONFIG, config))
                .configurationEntries().get(0).getOptions();
            System.out.println(encoded(options.get("username")) + " " + encoded(options.get("password")));
        }
    }

    private static String encoded(Object text) {
        return Base64.getEncoder().encodeToString(text.toString().getBytes(StandardCharsets.UTF_8));
    }
}
