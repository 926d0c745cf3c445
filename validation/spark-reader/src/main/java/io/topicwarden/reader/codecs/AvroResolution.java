package io.topicwarden.reader.codecs;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.StringJoiner;
import java.util.TreeSet;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Resolver;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;

/**
 * Reads Avro as a Java consumer does: with Avro's own reader, which resolves the schema of the
 * writer to that of the reader. Only records with a part that cannot be resolved fail: one with
 * {@code null}, but not one with a string, if the reader has {@code string} for {@code ["null",
 * "string"]}.
 */
final class AvroResolution {
  private static final int MAX_PATHS = 3;
  private static final int MAX_VISITED = 10_000;

  private final Schema writerSchema;
  private final Schema readerSchema;
  private final GenericDatumReader<Object> reader;
  private BinaryDecoder decoder;
  private Map<String, Set<String>> reasons;

  AvroResolution(Schema writerSchema, Schema readerSchema) {
    this.writerSchema = writerSchema;
    this.readerSchema = readerSchema;
    reader = new GenericDatumReader<>(writerSchema, readerSchema);
  }

  /** Throws if the reader fails for the data from {@code from} on. */
  void read(byte[] data, int from) throws RecordFault {
    AvroBounds.checkDecodable(data, from, writerSchema);
    try {
      decoder = DecoderFactory.get().binaryDecoder(data, from, data.length - from, decoder);
      reader.read(null, decoder);
    } catch (IOException | RuntimeException error) {
      throw RecordFault.invalid(reason(error), PlainCodec.describe(data));
    }
  }

  /**
   * Returns the reason of an error, with its path in the record.
   *
   * <p>Avro's messages about schemas name types, fields and symbols, but no paths. Other messages
   * are not repeated, because they may hold payload.
   */
  private String reason(Exception error) {
    if (reasons == null) {
      reasons = new HashMap<>();
      try {
        collectReasons();
      } catch (RuntimeException unresolvable) { // the reader has failed for the same reason
        reasons.clear();
      }
    }
    Set<String> found = error.getMessage() == null ? null : reasons.get(error.getMessage());
    if (found == null) {
      return error instanceof AvroRuntimeException
          ? "cannot be resolved to the new schema"
          : "Avro's reader fails with " + error.getClass().getSimpleName();
    }
    StringJoiner joined = new StringJoiner("; or ");
    found.stream().limit(MAX_PATHS).forEach(joined::add);
    return found.size() > MAX_PATHS ? joined + "; or others" : joined.toString();
  }

  private record Visit(Resolver.Action action, String path) {}

  /** Finds the paths of all errors that the resolution may meet, by Avro's message. */
  private void collectReasons() {
    Schema aliased = Schema.applyAliases(writerSchema, readerSchema);
    Set<Resolver.Action> visited = Collections.newSetFromMap(new IdentityHashMap<>());
    Deque<Visit> visits = new ArrayDeque<>();
    visits.add(new Visit(Resolver.resolve(aliased, readerSchema, GenericData.get()), ""));
    while (!visits.isEmpty() && visited.size() < MAX_VISITED) {
      Visit visit = visits.remove();
      Resolver.Action action = visit.action;
      if (action == null || (!visited.add(action) && !(action instanceof Resolver.ErrorAction))) {
        continue;
      }
      if (action instanceof Resolver.ErrorAction error) {
        addReason(error.toString(), describe(error, visit.path));
      } else if (action instanceof Resolver.Container container) {
        visits.add(new Visit(container.elementAction, visit.path + "/*"));
      } else if (action instanceof Resolver.WriterUnion union) {
        for (Resolver.Action branch : union.actions) {
          visits.add(new Visit(branch, visit.path));
        }
      } else if (action instanceof Resolver.ReaderUnion union) {
        visits.add(new Visit(union.actualAction, visit.path));
      } else if (action instanceof Resolver.RecordAdjust adjust) {
        int read = 0;
        for (Resolver.Action field : adjust.fieldActions) {
          if (!(field instanceof Resolver.Skip)) {
            String name = adjust.readerOrder[read++].name();
            visits.add(new Visit(field, visit.path + "/" + name));
          }
        }
      } else if (action instanceof Resolver.EnumAdjust adjust) {
        for (int i = 0; i < adjust.adjustments.length; i++) {
          if (adjust.adjustments[i] < 0) {
            String symbol = adjust.writer.getEnumSymbols().get(i);
            addReason("No match for " + symbol, where(visit.path) + ": no symbol " + symbol);
          }
        }
      }
    }
  }

  private void addReason(String message, String reason) {
    reasons.computeIfAbsent(message, any -> new TreeSet<>()).add(reason);
  }

  private static String describe(Resolver.ErrorAction error, String path) {
    if (error.error == Resolver.ErrorAction.ErrorType.MISSING_REQUIRED_FIELD) {
      List<String> missing =
          error.reader.getFields().stream()
              .filter(field -> !field.hasDefaultValue())
              .map(Schema.Field::name)
              .filter(name -> error.writer.getField(name) == null)
              .map(name -> path + "/" + name)
              .toList();
      return String.join(", ", missing) + ": missing, and the new schema has no default";
    }
    String expected = name(error.reader);
    String found = name(error.writer);
    return where(path)
        + (expected.equals(found)
            ? ": another " + expected + " of the same name"
            : ": expected " + expected + ", got " + found);
  }

  private static String name(Schema schema) {
    if (schema.getType() != Schema.Type.UNION) {
      return schema.getFullName();
    }
    StringJoiner branches = new StringJoiner(" or ");
    schema.getTypes().forEach(branch -> branches.add(branch.getFullName()));
    return branches.toString();
  }

  private static String where(String path) {
    return path.isEmpty() ? "the value" : path;
  }
}
