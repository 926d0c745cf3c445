package io.topicwarden.reader.compatibility;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.topicwarden.reader.Json;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * Compares schemas with the checkers of Apicurio Registry, which are on the class path.
 *
 * <p>Arguments: the time limit of one comparison in seconds, and a file. Each line of the file is a
 * JSON object with {@code format}, {@code new}, {@code old}, {@code newReferences}, {@code
 * oldReferences}, {@code backward} and {@code forward}. For each one, a line of standard output has
 * the lists {@code backward} and {@code forward} with {@code path} and {@code message}, or the
 * {@code error} why the schemas could not be compared. A comparison that exceeds the time or the
 * memory ends the process after its answer, because its thread cannot be stopped.
 *
 * <p>The checkers are called by reflection, because Maven repositories do not have all of their
 * jars.
 */
public final class CompatibilityJudge {
  private static final String REGISTRY = "io.apicurio.registry.";
  private static final Map<String, String> CHECKERS =
      Map.of(
          "avro", "avro.%s.Avro",
          "json", "json.%s.JsonSchema",
          "protobuf", "protobuf.%s.Protobuf");
  private static final int MAX_ERROR = 300;

  private final Method create = method("content.TypedContent", "create", 2);
  private final Method handle = method("content.ContentHandle", "create", String.class);
  private final Map<String, Object> instances = new HashMap<>();

  private CompatibilityJudge() {}

  /** Judges the lines of a file, and ends the process. */
  public static void main(String[] arguments) throws IOException, InterruptedException {
    long limit = Long.parseLong(arguments[0]);
    PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    System.setOut(System.err); // only answers may be on standard output
    CompatibilityJudge judge = new CompatibilityJudge();
    try (BufferedReader in = Files.newBufferedReader(Path.of(arguments[1]))) {
      for (String line = in.readLine(); line != null; line = in.readLine()) {
        judge.answer(limit, line, out);
      }
    }
    Runtime.getRuntime().halt(0);
  }

  private void answer(long seconds, String line, PrintStream out) throws InterruptedException {
    FutureTask<ObjectNode> task = new FutureTask<>(() -> judge(Json.MAPPER.readTree(line)));
    Thread thread = new Thread(task, "comparison");
    thread.setDaemon(true);
    thread.start();
    try {
      out.println(task.get(seconds, TimeUnit.SECONDS));
    } catch (TimeoutException tooLong) {
      out.println(error("the comparison did not end within " + seconds + " s"));
      Runtime.getRuntime().halt(1);
    } catch (ExecutionException failure) {
      out.println(error(reason(failure.getCause())));
      if (cause(failure, OutOfMemoryError.class)) {
        Runtime.getRuntime().halt(1);
      }
    }
  }

  private ObjectNode judge(JsonNode request) throws ReflectiveOperationException {
    String format = request.path("format").asText();
    Object proposed = content(format, request.path("new").asText());
    Object existing = content(format, request.path("old").asText());
    Map<String, Object> references = references(format, request.path("newReferences"));
    Object validator = instance(format, "rules.validity", "ContentValidator");
    Object syntax = constant("rules.validity.ValidityLevel", "SYNTAX_ONLY");
    method("rules.validity.ContentValidator", "validate", 3)
        .invoke(validator, syntax, proposed, references);
    if (!request.path("newReferences").equals(request.path("oldReferences"))) {
      // The checkers resolve the references of both schemas with the same texts.
      Map<String, Object> earlier = references(format, request.path("oldReferences"));
      Map<String, Object> separate = new HashMap<>();
      proposed = separated("new", format, proposed, references, separate);
      existing = separated("old", format, existing, earlier, separate);
      references = separate;
    }
    Object checker = instance(format, "rules.compatibility", "CompatibilityChecker");
    Method test = method("rules.compatibility.CompatibilityChecker", "testCompatibility", 4);
    ObjectNode answer = Json.MAPPER.createObjectNode();
    for (String direction : List.of("backward", "forward")) {
      ArrayNode differences = answer.putArray(direction);
      if (request.path(direction).asBoolean()) {
        Object level =
            constant("rules.compatibility.CompatibilityLevel", direction.toUpperCase(Locale.ROOT));
        add(test.invoke(checker, level, List.of(existing), proposed, references), differences);
      }
    }
    return answer;
  }

  private Map<String, Object> references(String format, JsonNode texts)
      throws ReflectiveOperationException {
    Map<String, Object> references = new HashMap<>();
    for (Map.Entry<String, JsonNode> each : texts.properties()) {
      references.put(each.getKey(), content(format, each.getValue().asText()));
    }
    return references;
  }

  /**
   * Returns a schema that does not share names of references with the other schema.
   *
   * <p>An Avro schema gets its referenced types inline. References of JSON Schema get other names,
   * which are added with their texts to {@code separate}. Apicurio does not look at the imports of
   * Protobuf.
   */
  private Object separated(
      String side,
      String format,
      Object schema,
      Map<String, Object> references,
      Map<String, Object> separate)
      throws ReflectiveOperationException {
    if (format.equals("protobuf")) {
      return schema;
    }
    Object dereferencer = instance(format, "content.dereference", "Dereferencer");
    String type = "content.dereference.ContentDereferencer";
    if (format.equals("avro")) {
      return method(type, "dereference", 2).invoke(dereferencer, schema, references);
    }
    Map<String, String> names = new HashMap<>();
    for (Map.Entry<String, Object> each : references.entrySet()) {
      String fragment = each.getKey().replaceFirst("^[^#]*", "");
      String name = "http://" + side + "/" + names.size() + fragment;
      names.put(each.getKey(), name);
      separate.put(name, each.getValue());
    }
    return method(type, "rewriteReferences", 2).invoke(dereferencer, schema, names);
  }

  /** Adds the differences of a CompatibilityExecutionResult to {@code differences}, sorted. */
  private static void add(Object result, ArrayNode differences)
      throws ReflectiveOperationException {
    Iterable<?> every =
        (Iterable<?>)
            method(
                    "rules.compatibility.CompatibilityExecutionResult",
                    "getIncompatibleDifferences",
                    0)
                .invoke(result);
    Method violation = method("rules.compatibility.CompatibilityDifference", "asRuleViolation", 0);
    Method description = method("rules.violation.RuleViolation", "getDescription", 0);
    Method context = method("rules.violation.RuleViolation", "getContext", 0);
    List<ObjectNode> sorted = new ArrayList<>();
    for (Object each : every) {
      Object violated = violation.invoke(each);
      ObjectNode difference = Json.MAPPER.createObjectNode();
      difference.put("path", (String) context.invoke(violated));
      difference.put("message", (String) description.invoke(violated));
      sorted.add(difference);
    }
    sorted.sort(Comparator.comparing(ObjectNode::toString));
    differences.addAll(sorted);
  }

  private Object content(String format, String text) throws ReflectiveOperationException {
    String type = format.equals("protobuf") ? "application/x-protobuf" : "application/json";
    return create.invoke(null, handle.invoke(null, text), type);
  }

  private Object instance(String format, String room, String suffix)
      throws ReflectiveOperationException {
    String name = String.format(CHECKERS.get(format), room) + suffix;
    Object present = instances.get(name);
    if (present == null) {
      present = registryClass(name).getConstructor().newInstance();
      instances.put(name, present);
    }
    return present;
  }

  @SuppressWarnings({"unchecked", "rawtypes"})
  private static Object constant(String name, String value) {
    return Enum.valueOf((Class) registryClass(name), value);
  }

  private static Method method(String type, String name, int parameters) {
    for (Method each : registryClass(type).getMethods()) {
      if (each.getName().equals(name) && each.getParameterCount() == parameters) {
        return each;
      }
    }
    throw new IllegalStateException("no method " + name + " in " + type);
  }

  private static Method method(String type, String name, Class<?> parameter) {
    try {
      return registryClass(type).getMethod(name, parameter);
    } catch (NoSuchMethodException missing) {
      throw new IllegalStateException(missing);
    }
  }

  private static Class<?> registryClass(String name) {
    try {
      return Class.forName(REGISTRY + name);
    } catch (ClassNotFoundException missing) {
      throw new IllegalStateException(missing);
    }
  }

  private static String error(String reason) {
    return Json.MAPPER.createObjectNode().put("error", reason).toString();
  }

  private static boolean cause(Throwable failure, Class<? extends Throwable> type) {
    for (Throwable each = failure; each != null; each = each.getCause()) {
      if (type.isInstance(each)) {
        return true;
      }
    }
    return false;
  }

  /** Returns the message of the innermost cause, or the name of its class if it has none. */
  private static String reason(Throwable failure) {
    if (cause(failure, StackOverflowError.class)) {
      return "a schema is nested too deeply";
    }
    if (cause(failure, OutOfMemoryError.class)) {
      return "the comparison needs too much memory";
    }
    Throwable innermost = failure;
    while (innermost.getCause() != null) {
      innermost = innermost.getCause();
    }
    String message = innermost.getMessage();
    if (message == null || message.isBlank()) {
      message = innermost.getClass().getSimpleName();
    }
    String line = message.strip().replaceAll("\\s+", " ");
    return line.length() > MAX_ERROR ? line.substring(0, MAX_ERROR) + "…" : line;
  }
}
