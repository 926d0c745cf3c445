import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.server.config.ServerTopicConfigSynonyms;
import org.apache.kafka.storage.internals.log.LogConfig;

/**
 * Prints Kafka's own definitions of its configurations of topics and of groups as JSON.
 *
 * <pre>java -cp "JARS/*" DumpConfigs.java</pre>
 *
 * where JARS contains org.apache.kafka:kafka_2.13 and its dependencies. generate.py downloads them and runs this class.
 */
public class DumpConfigs {
    public static void main(String[] args) throws Exception {
        Map<String, Object> configs = new TreeMap<>();
        LogConfig.configKeys().forEach((name, key) -> {
            if (!key.internalConfig) {
                String server = ServerTopicConfigSynonyms.TOPIC_CONFIG_SYNONYMS.get(name);
                configs.put(name, definition(key, server));
            }
        });
        Map<String, Object> groups = new TreeMap<>();
        groupConfigs().configKeys().forEach((name, key) -> groups.put(name, definition(key, null)));
        ObjectMapper json = new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);
        System.out.println(json.writeValueAsString(Map.of("configs", configs, "group_configs", groups)));
    }

    /** Returns the definitions of {@code GroupConfig}, which 3.9 does not have, and 4.4 has in a field. */
    private static ConfigDef groupConfigs() throws ReflectiveOperationException {
        Class<?> configs;
        try {
            configs = Class.forName("org.apache.kafka.coordinator.group.GroupConfig");
        } catch (ClassNotFoundException inOldLines) {
            return new ConfigDef();
        }
        try {
            return (ConfigDef) configs.getMethod("configDef").invoke(null);
        } catch (NoSuchMethodException inNewLines) {
            return (ConfigDef) configs.getField("CONFIG_DEF").get(null);
        }
    }

    private static Map<String, Object> definition(ConfigDef.ConfigKey key, String server) {
        Map<String, Object> definition = new LinkedHashMap<>();
        definition.put("type", key.type.name().toLowerCase());
        definition.put("default", ConfigDef.convertToString(key.defaultValue, key.type));
        definition.put("validator", key.validator == null ? null : key.validator.toString());
        definition.put("server_default", server);
        definition.put("documentation", key.documentation);
        return definition;
    }
}
